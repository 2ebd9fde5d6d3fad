// labels: fast
#include "report/text/estimate_format.hpp"

#include <doctest/doctest.h>

using namespace scrm;

TEST_CASE("estimate format: two digits of the standard error are shown") {
  CHECK(decimals_for(0.071, 2) == 3);
  CHECK(shown(2.0004, decimals_for(0.071, 2)) == "2.000");
  CHECK(shown(-0.0001, 3) == "0.000");
  CHECK(shown(1234.5, decimals_for(17.0, 1234.5)) == "1234");
  CHECK(shown(3e9, 4) == "3e+09");
}

TEST_CASE(
    "estimate format: numbers too small for decimals have an exponent, and as many digits as their error leaves") {
  CHECK(shown(-1.23456e-9, decimals_for(4.2e-11, -1.23456e-9)) == "-1.235e-09");
  CHECK(shown(4.2e-11, decimals_for(4.2e-11, -1.23456e-9)) == "4.2e-11");
  CHECK(shown(1.5e-300, decimals_for(2e-302, 1.5e-300)) == "1.500e-300");
  CHECK(shown(2e-302, decimals_for(2e-302, 1.5e-300)) == "2.0e-302");
  CHECK(shown(0.0, decimals_for(2e-302, 0)) == "0");
  CHECK(interval_text(-1e-9, 2e-9, decimals_for(1e-9, 0)) == "[-1.0e-09, 2.0e-09]");
}

TEST_CASE("estimate format: a number near one with a tiny error keeps its decimals") {
  CHECK(shown(1.0, decimals_for(1e-11, 1)) == "1.000000000000");
  CHECK(shown(1e-5, decimals_for(1e-7, 1e-5)) == "0.00001000");
}

TEST_CASE("estimate format: what is not given has the sign that the page has for it") {
  CHECK(shown({}, 3) == "-");
  CHECK(shown({}, 3, "—") == "—");
  CHECK(interval_text({}, 2.0, 1) == "at most 2.0");
  CHECK(interval_text({}, {}, 1, "—") == "—");
}
