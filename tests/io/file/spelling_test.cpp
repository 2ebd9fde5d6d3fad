// labels: fast
#include "scrm/io/file/spelling.hpp"

#include <doctest/doctest.h>

using namespace scrm;

TEST_CASE("closest_word: suggests slips of the keyboard and unique beginnings, not strangers") {
  const std::vector<std::string> commands = {"simulate", "import", "inspect", "evaluate"};
  CHECK(edit_distance("evalute", "evaluate") == 1);
  CHECK(edit_distance("improt", "import") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(closest_word("evalute", commands) == "evaluate");
  CHECK(closest_word("inpsect", commands) == "inspect");
  CHECK(closest_word("sim", commands) == "simulate");
  CHECK(closest_word("i", commands) == std::nullopt);
  CHECK(closest_word("deploy", commands) == std::nullopt);
  CHECK(closest_word("", commands) == std::nullopt);
  CHECK(closest_word("x", {}) == std::nullopt);
  // One or two letters are close to everything, and so is half a word.
  for (const char* typed : {"c", "ab", "Ö", "Öl"})
    CHECK(closest_word(typed, {"a", "abc", "Öl 1", "C4"}) == std::nullopt);
  CHECK(closest_word("abxy", {"abcd"}) == std::nullopt);
  CHECK(closest_word("abc", {"abd"}) == "abd");
}

TEST_CASE("suggestion: the word that was meant, or those there are") {
  const std::vector<std::string> columns = {"loss", "price", "propensity"};
  CHECK(did_you_mean("lsos", columns) == "did you mean 'loss'?");
  CHECK(did_you_mean("prop", columns, "\"") == "did you mean \"propensity\"?");
  CHECK(did_you_mean("xyzzy", columns) == "");
  CHECK(suggestion("lsos", columns) == "did you mean 'loss'?");
  CHECK(suggestion("xyzzy", columns) == "there is loss, price, propensity");
  const std::vector<std::string> many(13, "column");
  CHECK(suggestion("xyzzy", many).substr(0, 16) == "there is column,");
  CHECK(suggestion("xyzzy", many).find("column, ...") != std::string::npos);
}

TEST_CASE("shell_word: what a shell would split, expand or end is in quotes") {
  CHECK(shell_word("logs/part-1.h5") == "logs/part-1.h5");
  CHECK(shell_word("age,visits") == "age,visits");
  CHECK(shell_word("Zürich.csv") == "Zürich.csv");
  CHECK(shell_word("my data/a.csv") == "'my data/a.csv'");
  CHECK(shell_word("x*") == "'x*'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$(date)") == "'$(date)'");
  CHECK(shell_word("~/a") == "'~/a'");
  CHECK(shell_word("") == "''");
}
