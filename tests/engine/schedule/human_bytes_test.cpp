// labels: fast
#include "scrm/engine/schedule/human_bytes.hpp"

#include <doctest/doctest.h>

using namespace scrm;

TEST_CASE("human_bytes: never shows 1,024 of a unit") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(1024.0 * 1024 - 1) == "1.0 MiB");
  CHECK(human_bytes(3.5 * 1024 * 1024 * 1024) == "3.5 GiB");
}
