// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/files.hpp"
#include "text/csv/csv_reader.hpp"

namespace {

namespace fs = std::filesystem;
using scrm::testing::complaint;
using scrm::testing::holds;
using Record = std::vector<std::string>;

/// A folder of its own for each test, with one text file in it.
struct Folder : scrm::testing::Folder {
  explicit Folder(const std::string& text) { scrm::testing::write_bytes(*this / "in.csv", text); }
};

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Record> records(const std::string& text, char delimiter = ',') {
  const Folder folder(text);
  scrm::CsvReader reader(folder / "in.csv", delimiter);
  std::vector<Record> all = {reader.header()};
  while (reader.next()) all.emplace_back(reader.fields().begin(), reader.fields().end());
  CHECK(reader.bytes_done() == static_cast<std::int64_t>(text.size()));
  return all;
}

std::string reading_complaint(const std::string& text) {
  return complaint([&] { records(text); });
}

scrm::CsvImport plain_import(const Folder& folder) {
  scrm::CsvImport import;
  import.files = {folder / "in.csv"};
  import.out = folder / "out.h5";
  import.context = {"x*"};
  import.action = {"a"};
  import.loss = "l";
  import.propensity = "p";
  return import;
}

/// What the plain import says about a text.
std::string import_complaint(const std::string& text) {
  const Folder folder(text);
  const std::string message = complaint([&] { scrm::import_csv(plain_import(folder)); });
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) ==
        (message == "no error" ? 2 : 1));
  return message;
}

}  // namespace

TEST_CASE("csv: quotes, line ends and byte order marks are understood") {
  CHECK(records("a,b\n1,2\n") == std::vector<Record>{{"a", "b"}, {"1", "2"}});
  CHECK(records("a,b\n1,2") == std::vector<Record>{{"a", "b"}, {"1", "2"}});
  CHECK(records("a,b\r\n1,2\r\n3,4\r\n") == std::vector<Record>{{"a", "b"}, {"1", "2"}, {"3", "4"}});
  CHECK(records("\xEF\xBB\xBF"
                "a,b\n") == std::vector<Record>{{"a", "b"}});
  CHECK(records("a,b\n\"1,\n2\",\"say \"\"x\"\"\"\n,\n") ==
        std::vector<Record>{{"a", "b"}, {"1,\n2", "say \"x\""}, {"", ""}});
  CHECK(records("\"a\"\"\",\"\"\"\"\r\n\"1\",\"2\"\r\n") == std::vector<Record>{{"a\"", "\""}, {"1", "2"}});
  CHECK(records("a;b\n1,5;2\n", ';') == std::vector<Record>{{"a", "b"}, {"1,5", "2"}});
  CHECK(records("\n\na , b\n\n\r\n1,2\n\n") == std::vector<Record>{{"a", "b"}, {"1", "2"}});
  CHECK(records("a,b\n1\n1,2,3\n") == std::vector<Record>{{"a", "b"}, {"1"}, {"1", "2", "3"}});
}

TEST_CASE("csv: records of every length come through the border of the buffer whole") {
  // The buffer holds 2^20 bytes: records of many lengths put every kind of byte on its border.
  for (const std::size_t length : {7U, 1000U, 65537U, 1048575U, 3000000U}) {
    std::string text = "a,b\n";
    std::vector<Record> expected = {{"a", "b"}};
    for (std::size_t i = 0; text.size() < 5000000; ++i) {
      const std::string field = std::string(length + i % 13, static_cast<char>('a' + i % 26)) + "\n";
      text += "\"" + field + "\"\"\"," + std::to_string(i) + "\r\n";
      expected.push_back({field + "\"", std::to_string(i)});
    }
    CHECK(records(text) == expected);
  }
}

TEST_CASE("csv: lines are counted as an editor counts them") {
  const Folder folder("a,b\n\"x\ny\",1\n\n2,3\n");
  scrm::CsvReader reader(folder / "in.csv", ',');
  CHECK(reader.line() == 1);
  CHECK(reader.next());
  CHECK(reader.line() == 2);
  CHECK(reader.next());
  CHECK(reader.line() == 5);
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.next());
}

TEST_CASE("csv: what cannot be read is named") {
  CHECK(holds(reading_complaint(""), "the file is empty"));
  CHECK(holds(reading_complaint("\n\n"), "the file is empty"));
  CHECK(holds(reading_complaint("1,2\n3,4\n"), "line 1: the first line looks like data, not names"));
  CHECK(holds(reading_complaint("a,b,a\n"), "line 1: the name 'a' is given to columns 1 and 3"));
  CHECK(holds(reading_complaint("a,,b\n"), "line 1: column 2 has no name"));
  CHECK(holds(reading_complaint("a,b\n1,\"2\n3,4\n"), "line 2: a quote is opened and never closed"));
  CHECK(holds(reading_complaint("a,b\n1,\"2\"x\n"), "line 2: text follows a closing quote"));
  CHECK(holds(reading_complaint("\xFF\xFE"
                                "a"),
              "UTF-16"));
  CHECK(holds(reading_complaint("\x1F\x8B\x08"), "compressed"));
  CHECK(holds(complaint([] { scrm::CsvReader("/nonexistent/x.csv", ','); }), "/nonexistent/x.csv: cannot read"));
  CHECK(holds(complaint([] { scrm::CsvReader("/", ','); }), "is a folder"));
  CHECK(holds(complaint([] { scrm::CsvReader("/dev/null", '"'); }), "cannot delimit"));
}

TEST_CASE("csv import: every kind of column arrives where it belongs") {
  const Folder folder(
      "id,x1,p,x2,l1,l2,r,q1,q2,t\n"
      "7,0.5,0.25,-1,1,0,3,0.5,0.5,0.125\n"
      "8,1e-3,1,2,0,1,-4,1,0.75,0\n");
  scrm::CsvImport import = plain_import(folder);
  import.action = {"l1", "l2"};
  import.action_kind = scrm::ActionKind::multilabel;
  import.loss.clear();
  import.reward = "r";
  import.label_propensity = {"q1", "q2"};
  import.targets = {{ "new", "t" }};
  import.cluster = "id";
  const scrm::ImportResult result = scrm::import_csv(import);
  CHECK(result.rows == 2);
  CHECK(result.schema.features == 2);
  CHECK(result.schema.cluster);

  scrm::ReadOptions options;
  options.all_targets = true;
  options.cluster = true;
  scrm::Dataset dataset({import.out}, options);
  scrm::BlockBuffer buffer(dataset.schema());
  scrm::Audit audit;
  REQUIRE(dataset.fetch(0, 2)->decode(0, 2, buffer, audit) == 2);
  CHECK(dataset.schema().num_actions == 2);
  CHECK(dataset.schema().targets == std::vector<std::string>{"new"});
  CHECK(buffer.context_f64()[0] == 0.5);
  CHECK(buffer.context_f64()[1] == 1e-3);
  CHECK(buffer.context_f64()[scrm::kBlockRows + 1] == 2);
  CHECK(buffer.bits()[0] == 1);
  CHECK(buffer.bits()[scrm::kBlockRows] == 0);
  CHECK(buffer.loss()[0] == -3);
  CHECK(buffer.loss()[1] == 4);
  CHECK(buffer.propensity()[0] == 0.25);
  CHECK(buffer.label_propensity()[scrm::kBlockRows + 1] == 0.75);
  CHECK(buffer.target(0)[0] == 0.125);
  CHECK(buffer.cluster()[0] == 7);
  CHECK(buffer.cluster()[1] == 8);
}

TEST_CASE("csv import: context columns by name, prefix and range, without those that have another role") {
  const Folder folder("xa,x1,x2,p,a,l,x3\n9,1,2,0.5,0,0,3\n");
  const auto features = [&](std::vector<std::string> context) {
    scrm::CsvImport import = plain_import(folder);
    import.context = std::move(context);
    scrm::import_csv(import);
    scrm::Dataset dataset({import.out}, {});
    scrm::BlockBuffer buffer(dataset.schema());
    scrm::Audit audit;
    REQUIRE(dataset.fetch(0, 1)->decode(0, 1, buffer, audit) == 1);
    std::vector<double> row;
    for (std::int64_t j = 0; j < dataset.schema().features; ++j)
      row.push_back(buffer.context_f64()[j * scrm::kBlockRows]);
    return row;
  };
  CHECK(features({}).empty());
  CHECK(features({"x2", "x1"}) == std::vector<double>{2, 1});
  CHECK(features({"x*"}) == std::vector<double>{9, 1, 2, 3});
  CHECK(features({"x1:x3"}) == std::vector<double>{1, 2, 3});
  CHECK(features({"*"}) == std::vector<double>{9, 1, 2, 3});
  CHECK(holds(complaint([&] { features({"x1", "x*"}); }), "column 'x1' twice"));
  CHECK(holds(complaint([&] { features({"y*"}); }), "begins with 'y'"));
  CHECK(holds(complaint([&] { features({"x3:x1"}); }), "other order"));
  CHECK(holds(complaint([&] { features({"x11"}); }), "no column is named 'x11'; did you mean 'x1'?"));
}

TEST_CASE("csv import: a bad row is named by line, column and value, and nothing is written") {
  const std::string head = "x,a,l,p\n1,2,3,0.5\n";
  CHECK(holds(import_complaint(head + "1,2,3,0\n"), "in.csv: line 3, column 'p': propensity is not above zero: '0'"));
  CHECK(holds(import_complaint(head + "1,2,3,nan\n"), "line 3, column 'p': propensity is not finite: 'nan'"));
  CHECK(holds(import_complaint(head + "1,2,inf,1\n"), "line 3, column 'l': loss is not finite: 'inf'"));
  CHECK(holds(import_complaint(head + "1,-inf,3,1\n"), "line 3, column 'a': action is not finite: '-inf'"));
  CHECK(holds(import_complaint(head + "1e999,2,3,1\n"), "line 3, column 'x': "));
  CHECK(holds(import_complaint(head + "1,,3,1\n"), "line 3, column 'a': the value is missing"));
  CHECK(holds(import_complaint(head + "1,2,NA,1\n"), "line 3, column 'l': 'NA' is not a number"));
  CHECK(holds(import_complaint(head + "1,2,3\n"), "line 3: 3 fields where the header has 4"));
  CHECK(holds(import_complaint(head + "1,2,3,-1\n1,2,3,4\n,2,3,4\n"), "2 bad rows in all; --skip-bad-rows"));
  CHECK(import_complaint(head + "1,2,3,7\n") == "no error");  // a density may be above one
}

TEST_CASE("csv import: the rules of categorical actions") {
  const auto complain = [](const std::string& row, bool logarithm) {
    const Folder folder("x,a,l,p\n" + row + "\n");
    scrm::CsvImport import = plain_import(folder);
    import.action_kind = scrm::ActionKind::categorical;
    import.num_actions = 3;
    if (logarithm) std::swap(import.propensity, import.log_propensity);
    return complaint([&] { scrm::import_csv(import); });
  };
  CHECK(complain("1,2,3,1", false) == "no error");
  CHECK(holds(complain("1,3,3,1", false), "action is out of range: '3'"));
  CHECK(holds(complain("1,-1,3,1", false), "action is out of range: '-1'"));
  CHECK(holds(complain("1,0.5,3,1", false), "action is out of range: '0.5'"));
  CHECK(holds(complain("1,0,3,1.5", false), "propensity is a probability above one: '1.5'"));
  CHECK(complain("1,0,3,-800", true) == "no error");
  CHECK(holds(complain("1,0,3,0.1", true), "probability above one"));
}

TEST_CASE("csv import: bad rows are left out and counted when that is wanted") {
  const Folder folder("x,a,l,p\n1,2,3,0.5\n1,2,3,0\n1,2\n1,2,x,1\n1,2,,1\nnan,2,3,-1\n4,5,6,1\n");
  scrm::CsvImport import = plain_import(folder);
  import.skip_bad_rows = true;
  const scrm::ImportResult result = scrm::import_csv(import);
  CHECK(result.rows == 2);
  CHECK(result.skipped_rows() == 5);
  CHECK(result.bad_records[0] == 1);
  CHECK(result.bad_records[1] == 1);
  CHECK(result.bad_records[2] == 1);
  CHECK(result.bad_rows[static_cast<std::size_t>(scrm::BadRowReason::propensity_not_positive)] == 2);
  CHECK(scrm::Dataset({import.out}, {}).rows() == 2);
}

TEST_CASE("csv import: shards of equal size, or of a given number of rows") {
  std::string text = "x,a,l,p\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ",0,0,1\n";
  const Folder folder(text);
  scrm::CsvImport import = plain_import(folder);
  import.out = folder / "parts";
  const auto sizes = [&] {
    scrm::import_csv(import);
    const scrm::Dataset dataset({import.out}, {});
    std::vector<std::int64_t> rows;
    for (const scrm::Shard& shard : dataset.shards()) rows.push_back(shard.rows);
    fs::remove_all(import.out);
    return rows;
  };
  CHECK(sizes() == std::vector<std::int64_t>{5000});
  import.shards = 3;
  CHECK(sizes() == std::vector<std::int64_t>{1667, 1667, 1666});
  import.shards = 0;
  import.rows_per_shard = 2048;
  CHECK(sizes() == std::vector<std::int64_t>{2048, 2048, 904});
  import.rows_per_shard = 2500;
  CHECK(sizes() == std::vector<std::int64_t>{2500, 2500});
  import.rows_per_shard = 100000;
  CHECK(sizes() == std::vector<std::int64_t>{5000});
}

TEST_CASE("csv import: threads and quotes change nothing of what is written, and the first bad line is named") {
  // Some thousand lines go to slots; a stretch with quotes, line breaks inside them included, and empty lines between.
  std::string text = "x1,x2,a,l,p\r\n";
  for (int i = 0; i < 30'000; ++i) {
    const bool quoted = i / 100 == 120;
    if (i % 5'000 == 0) text += "\n";
    text += quoted ? "\"" + std::to_string(i) + "\"" : std::to_string(i);
    text += i % 7 == 0 ? "," : "," + std::to_string(1.0 / (1 + i));
    text += quoted ? ",\"shoe\n\"\"" + std::to_string(i % 3) + "\"\"\"" : ",bag" + std::to_string(i % 11);
    text += "," + std::to_string(i % 13) + ",0.5\r\n";
  }
  const Folder folder(text);
  scrm::CsvImport import = plain_import(folder);
  import.action_kind = scrm::ActionKind::categorical;
  import.impute = scrm::Impute::mean;
  std::string shard, recipe;
  const auto bytes = [&](int threads, const std::string& name) {
    import.files = {folder / name};
    import.out = folder / ("out" + std::to_string(threads) + name + ".h5");
    import.encoding = import.out + ".toml";
    import.threads = threads;
    import.parallel = {};
    if (threads > 1) {
      import.parallel = [](std::size_t count, const std::function<void(std::size_t)>& task) {
        std::vector<std::thread> all;
      for (std::size_t i = 0; i < count; ++i) all.emplace_back([&task, i] { task(i); });
      for (std::thread& one : all) one.join();
    };
  } const scrm::ImportResult result = scrm::import_csv(import);
  CHECK(result.rows == 30'000);
  CHECK(result.filled_holes == 4'286);
  CHECK(result.schema.num_actions == 14);
  return std::pair(read_whole(import.out), read_whole(import.encoding));
};
std::tie(shard, recipe) = bytes(1, "in.csv");
import.shards = 2;  // cut record by record, on one thread
import.out = folder / "serial";
import.encoding = "";
scrm::import_csv(import);
CHECK(scrm::Dataset({import.out}, {}).rows() == 30'000);
import.shards = 0;
for (const int threads : {2, 5}) CHECK(bytes(threads, "in.csv") == std::pair(shard, recipe));

// The first of several bad lines, and all of them counted, whichever thread met them.
const std::string wrong = "1,2,bag1,x,0.5\n";
for (const std::size_t line : {29'000U, 9'000U}) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < line; ++i) at = text.find('\n', at) + 1;
  text.insert(at, wrong);
}
scrm::testing::write_bytes(folder / "in.csv", text);
const std::string message = complaint([&] { bytes(3, "in.csv"); });
CHECK(holds(message, "line 9001, column 'l': 'x' is not a number"));
CHECK(holds(message, "2 bad rows"));
}

TEST_CASE("csv import: more shards than rows, and no rows at all, are legal") {
  const Folder folder("x,a,l,p\n1,0,0,1\n");
  scrm::CsvImport import = plain_import(folder);
  import.out = folder / "parts";
  import.shards = 3;
  CHECK(scrm::import_csv(import).shards == 3);
  CHECK(scrm::Dataset({import.out}, {}).rows() == 1);
  std::ofstream(folder / "in.csv") << "x,a,l,p\n";
  import.out = folder / "none.h5";
  import.shards = 0;
  CHECK(scrm::import_csv(import).rows == 0);
  CHECK(scrm::Dataset({import.out}, {}).rows() == 0);
}

TEST_CASE("csv import: the number of categories is found when it is not given") {
  const Folder folder("x,a,l,p\n1,4,0,1\n1,2,0,1\n");
  scrm::CsvImport import = plain_import(folder);
  import.action_kind = scrm::ActionKind::categorical;
  CHECK(scrm::import_csv(import).schema.num_actions == 5);
  std::ofstream(folder / "in.csv") << "x,a,l,p\n1,99999999,0,1\n";
  CHECK(holds(complaint([&] { scrm::import_csv(import); }), "give --num-actions"));
}

TEST_CASE("csv import: progress over two readings of the file never goes back") {
  std::string text = "x,a,l,p\n";
  for (int i = 0; i < 3 * scrm::kBlockRows; ++i) text += "1,2,0,1\n";
  const Folder folder(text);
  scrm::CsvImport import = plain_import(folder);
  import.action_kind = scrm::ActionKind::categorical;
  std::vector<double> shares;
  scrm::import_csv(import, [&](std::int64_t done, std::int64_t total) {
    shares.push_back(static_cast<double>(done) / static_cast<double>(total));
  });
  REQUIRE(shares.size() >= 4);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() < 0.5);
  CHECK(shares.back() > 0.5);
  CHECK(shares.back() <= 1);
}

TEST_CASE("csv import: choices that do not go together are wrong usage") {
  const Folder folder("x,a,l,p\n1,0,0,1\n");
  const auto complain = [&](auto change) {
    scrm::CsvImport import = plain_import(folder);
    change(import);
    try {
      scrm::import_csv(import);
    } catch (const scrm::Error& error) {
      CHECK(error.kind() == scrm::ErrorKind::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(holds(complain([](auto& i) { i.propensity = "q"; }), "--propensity: no column is named 'q'"));
  CHECK(holds(complain([](auto& i) { i.propensity.clear(); }), "--propensity is missing"));
  CHECK(holds(complain([](auto& i) { i.log_propensity = "p"; }), "exclude each other"));
  CHECK(holds(complain([](auto& i) { i.reward = "l"; }), "exclude each other"));
  CHECK(holds(complain([](auto& i) { i.loss.clear(); }), "--loss (or --reward-column) is missing"));
  CHECK(holds(complain([](auto& i) { i.action = {"a", "x"}; }), "only multilabel"));
  CHECK(holds(complain([](auto& i) { i.label_propensity = {"p"}; }), "multilabel"));
  CHECK(holds(complain([](auto& i) { i.num_actions = 3; }), "categorical"));
  CHECK(holds(complain([](auto& i) { i.shards = 2; }), "is one file"));
  CHECK(holds(complain([](auto& i) { i.targets = {{"t", "x"}, {"t", "l"}}; }), "given twice"));
  CHECK(holds(complain([](auto& i) { i.context.clear(), i.targets = {{"t/u", "x"}}; }), "cannot name a target"));
}
