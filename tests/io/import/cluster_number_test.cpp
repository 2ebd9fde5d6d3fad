// labels: fast io
#include "import/cluster_number.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

using scrm::cluster_number;

TEST_CASE("cluster number: integers stand for themselves") {
  CHECK(cluster_number("0") == 0);
  CHECK(cluster_number("7") == 7);
  CHECK(cluster_number(" -12\t") == -12);
  CHECK(cluster_number("9223372036854775807") == INT64_MAX);
  CHECK(cluster_number("-9223372036854775808") == INT64_MIN);
  CHECK(cluster_number("7.0") == 7);
}

TEST_CASE("cluster number: other texts are hashed to 63 bits, the same on every machine") {
  // FNV-1a of the text without its highest bit, from another implementation.
  CHECK(cluster_number("alice") == 0x508B2ABB65A03907);
  CHECK(cluster_number(" alice ") == cluster_number("alice"));
  CHECK(cluster_number("bob") == 0x4D4419134A0A54);
  for (const char* text : {"007", "+7", "-0", "1e3", "7.5", "7.00", ".0", "9223372036854775808", "-9223372036854775809",
                           "99999999999999999999", "0x10", "user 7"}) {
    CAPTURE(text);
    CHECK(cluster_number(text) > 1'000'000);
  }
}

TEST_CASE("cluster number: names that look alike do not share one") {
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200'000; ++i) seen.insert(cluster_number("user-" + std::to_string(i)));
  for (int i = 0; i < 200'000; ++i) seen.insert(cluster_number(std::to_string(i)));
  CHECK(seen.size() == 400'000);
}
