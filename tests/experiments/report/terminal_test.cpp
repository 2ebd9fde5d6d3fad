// labels: fast cli
#include "report/terminal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cli/command.hpp"
#include "cli/options/number_options.hpp"
#include "scrm/io/file/error.hpp"

using namespace scrm;

TEST_CASE("with_commas: groups digits by three, on both sides of zero") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(12345678) == "12,345,678");
  CHECK(with_commas(-123) == "-123");
  CHECK(with_commas(-123456) == "-123,456");
  CHECK(with_commas(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("human_seconds: seconds, minutes and hours, carried at the border") {
  CHECK(human_seconds(0.42) == "0.42 s");
  CHECK(human_seconds(9.999) == "10.0 s");
  CHECK(human_seconds(59.99) == "1 min 00 s");
  CHECK(human_seconds(65) == "1 min 05 s");
  CHECK(human_seconds(3599.9) == "1 h 00 min");
  CHECK(human_seconds(7500) == "2 h 05 min");
  CHECK(human_seconds(std::nan("")) == "?");
}

TEST_CASE("human_number: four to six significant digits, whatever the size") {
  CHECK(human_number(0) == "0");
  CHECK(human_number(-0.0) == "0");
  CHECK(human_number(0.5) == "0.5000");
  CHECK(human_number(-3.41412345) == "-3.4141");
  CHECK(human_number(12.3456789) == "12.346");
  CHECK(human_number(123.456789) == "123.46");
  CHECK(human_number(1234.56789) == "1,234.6");
  CHECK(human_number(-1999.96) == "-2,000.0");
  CHECK(human_number(1267236.1) == "1,267,236");
  CHECK(human_number(12345) == "12,345");
  CHECK(human_number(0.000123456) == "0.0001235");
  CHECK(human_number(0.00000123456) == "1.235e-06");
  CHECK(human_number(1.5e12) == "1.500e+12");
  CHECK(human_number(std::nan("")) == "nan");
  CHECK(human_number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("table: letters of two columns and accents of none are counted as they are drawn") {
  Table table({"item", "rows"}, {Table::Align::left, Table::Align::right});
  table.add({"漢字", "1"});
  table.add({"한국 😀", "2"});
  table.add({"e\u0301te", "3"});
  table.add({"größe", "4"});
  CHECK(table.text(0) ==
        "item     rows\n"
        "漢字        1\n"
        "한국 😀     2\n"
        "e\u0301te         3\n"
        "größe       4\n");
}

TEST_CASE("table: columns line up by what is shown, not by bytes") {
  Table table({"name", "value"}, {Table::Align::left, Table::Align::right});
  table.add({"π", "3.14"});
  table.add({"\033[1mbold\033[0m", "10"});
  CHECK(table.text(2) ==
        "  name  value\n"
        "  π      3.14\n"
        "  \033[1mbold\033[0m     10\n");
}

TEST_CASE("table: rows that are too short are filled, an empty header is left out, nothing trails") {
  Table table({"", ""}, {});
  table.add({"a"});
  table.add({"longer", "x"});
  CHECK(table.text() == "a\nlonger  x\n");
  CHECK(Table({}, {}).text() == "");
}

TEST_CASE("parse_size: M is 2^20, MB is 10^6, fractions and case are allowed") {
  CHECK(parse_size("1") == 1);
  CHECK(parse_size("1000000") == 1000000);
  CHECK(parse_size("512M") == std::size_t{512} << 20);
  CHECK(parse_size("4g") == std::size_t{4} << 30);
  CHECK(parse_size("1.5GiB") == std::size_t{3} << 29);
  CHECK(parse_size("2 MB") == 2000000);
  CHECK(parse_size("+2K") == 2048);
  CHECK(parse_size("3T") == std::size_t{3} << 40);
}

TEST_CASE("parse_size: anything else is a usage error that shows an example") {
  for (const char* text :
       {"", "M", "-1G", "0", "0.2", "nan", "inf", "1e400", "1Q", "1MiBs", "12 monkeys", "99999999T"}) {
    CAPTURE(text);
    try {
      parse_size(text);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(std::string(error.what()).find("512M") != std::string::npos);
    }
  }
}

TEST_CASE("common options: defaults are the machine's, and --threads begins at one") {
  CLI::App app;
  CommonOptions options;
  add_common_options(app, options);
  CHECK(options.threads >= 1);
  CHECK(options.memory >= std::size_t{1} << 20);

  app.parse("--threads 3 --memory 256M --json --quiet");
  CHECK(options.threads == 3);
  CHECK(options.memory == std::size_t{256} << 20);
  CHECK(options.json);
  CHECK(options.pass("x").threads == 3);
  // What the process holds, under a sanitizer more than 64 MiB, is no longer there for a pass.
  CHECK(options.pass("x").memory < std::size_t{252} << 20);
  CHECK(options.pass("x").memory > 1);
  CHECK(!options.pass("x").progress);  // quiet

  CHECK_THROWS_AS(app.parse("--threads 0"), CLI::ParseError);
  CHECK_THROWS_AS(app.parse("--threads two"), CLI::ParseError);
  CHECK_THROWS_AS(app.parse("--memory lots"), Error);
}

TEST_CASE("number_option: a sign may stand before a number, and words, lists and hexadecimals are none") {
  CHECK(number_option("+0.5") == 0.5);
  CHECK(number_option("-1e-3") == -1e-3);
  CHECK(number_option("inf") == std::numeric_limits<double>::infinity());
  for (const char* text : {"", "nan", "auto", "0x10", "1,5", "1 2", "+-1"}) {
    CAPTURE(text);
    CHECK_FALSE(number_option(text));
  }
}

TEST_CASE("printable: control characters and broken UTF-8 are shown, everything else is left alone") {
  CHECK(printable("plain, größer, 行動 🙂\nand a second line") ==
        "plain, größer, 行動 🙂\nand a second line");
  CHECK(printable("\033[31mred\a\x7f") == "\\x1b[31mred\\x07\\x7f");
  CHECK(printable("tab\there") == "tab here");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\xc2\\x9b2J");  // CSI in one character
  CHECK(printable("\x9b"
                  "2J") == "\\x9b2J");                    // and in one byte
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // longer than needed
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("cut \xe8\xa1") == "cut \\xe8\\xa1");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("") == "");
}
