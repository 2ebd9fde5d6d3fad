/// every_isa: runs a test once on each instruction set that this machine and this build have.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "scrm/kernels/vector/isa.hpp"

namespace scrm::testing {

template <class Body>
void every_isa(Body body) {
  for (const std::string name : available_isas()) {
    CAPTURE(name);
    REQUIRE(force_isa(name));
    REQUIRE(active_isa() == name);
    body();
  }
  force_isa("");
}

}  // namespace scrm::testing
