// doctest's own code and main(), compiled once for all tests: it takes longer than most of them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
