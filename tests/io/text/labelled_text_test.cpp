// labels: fast io
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/arff.hpp"
#include "scrm/io/labelled/labelled_import.hpp"
#include "scrm/io/labelled/libsvm.hpp"
#include "support/files.hpp"

namespace {

using scrm::LabelledData;
using namespace scrm::testing;
using Bits = std::vector<std::uint8_t>;
using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

const std::string kHeader =
    "@relation r\n@attribute x numeric\n@attribute y real\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n";

LabelledData arff(const std::string& text, const scrm::ArffOptions& options = {.labels = 2}) {
  const Folder folder;
  write_bytes(folder / "in.arff", text);
  return scrm::read_arff(folder / "in.arff", options);
}

LabelledData libsvm(const std::string& text, const scrm::LibsvmOptions& options = {},
                    scrm::LibsvmNumbering* numbering = nullptr) {
  const Folder folder;
  write_bytes(folder / "in.svm", text);
  return scrm::read_libsvm(folder / "in.svm", options, numbering);
}

/// Whether the complaint about this text names the file and holds all the parts.
void check_complaint(const std::string& message, const std::string& file, const Names& parts) {
  INFO("complaint: " << message);
  CHECK(holds(message, file));
  for (const std::string& part : parts) {
    INFO("missing: " << part);
    CHECK(holds(message, part));
  }
}

void check_arff(const std::string& text, const Names& parts, const scrm::ArffOptions& options = {.labels = 2}) {
  INFO(text);
  check_complaint(complaint([&] { arff(text, options); }), "in.arff: ", parts);
}

void check_libsvm(const std::string& text, const Names& parts, const scrm::LibsvmOptions& options = {}) {
  INFO(text);
  check_complaint(complaint([&] { libsvm(text, options); }), "in.svm: ", parts);
}

}  // namespace

TEST_CASE("arff: dense rows become a dense table and the last attributes its labels") {
  const LabelledData data = arff(kHeader + "1,-2.5,0,1\n 1e-3 ,\t+4 , 1 ,0 % why\n\n% nothing\n'7',\"8\",'1',1\n");
  CHECK(data.rows == 3);
  CHECK(data.features == 2);
  CHECK(data.labels == 2);
  CHECK_FALSE(data.sparse);
  CHECK(data.context == Numbers{1, -2.5, 1e-3, 4, 7, 8});
  CHECK(data.label == Bits{0, 1, 1, 0, 1, 1});
  CHECK(data.label_names == Names{"a", "b"});
  CHECK(data.name == "in");
}

TEST_CASE("arff: sparse rows are put in order, zeros left out") {
  const LabelledData data = arff(kHeader + "{}\n{1 2.5, 0 1,3 1}\n{ 2 1 }\n{0 0, 1 -3} % last\n");
  CHECK(data.sparse);
  CHECK(data.rows == 4);
  CHECK(data.indptr == std::vector<std::int64_t>{0, 0, 2, 2, 3});
  CHECK(data.indices == std::vector<std::int32_t>{0, 1, 1});
  CHECK(data.values == Numbers{1, 2.5, -3});
  CHECK(data.label == Bits{0, 0, 0, 1, 1, 0, 0, 0});
}

TEST_CASE("arff: keywords come in any case, names in quotes, lines in CRLF, and a byte order mark is dropped") {
  const LabelledData data = arff(
      "\xEF\xBB\xBF% about\r\n@RELATION 'a b'\r\n\r\n@Attribute 'it\\'s 1' INTEGER\r\n@ATTRIBUTE \"my label\"{ 0 , '1' "
      "}"
      "\r\n@attribute\tlast\tReal % why\r\n@DATA\r\n5,1,6\r\n",
      {.label_names = {"my label"}});
  CHECK(data.features == 2);
  CHECK(data.context == Numbers{5, 6});
  CHECK(data.label == Bits{1});
  CHECK(data.label_names == Names{"my label"});
}

TEST_CASE("arff: named labels may stand anywhere and keep the order of the file") {
  const LabelledData data = arff(kHeader + "1,2,0,1\n", {.label_names = {"b", "a"}});
  CHECK(data.label_names == Names{"a", "b"});
  CHECK(data.label == Bits{0, 1});
  const LabelledData front =
      arff("@attribute a {0,1}\n@attribute x numeric\n@data\n1,3\n0,4\n", {.label_names = {"a"}});
  CHECK(front.context == Numbers{3, 4});
  CHECK(front.label == Bits{1, 0});
}

TEST_CASE("arff: no rows, no features and many labels are all fine") {
  CHECK(arff(kHeader).rows == 0);
  CHECK(arff(kHeader).features == 2);
  const LabelledData bare = arff("@attribute a {0,1}\n@attribute b numeric\n@data\n1,0\n0,1\n");
  CHECK(bare.features == 0);
  CHECK(bare.context.empty());
  CHECK(bare.label == Bits{1, 0, 0, 1});
  std::string text;
  std::string row = "3";
  for (int k = 0; k < 64; ++k) {
    text += "@attribute l" + std::to_string(k) + " {0,1}\n";
    row += k % 3 == 0 ? ",1" : ",0";
  }
  const LabelledData wide = arff("@attribute x numeric\n" + text + "@data\n" + row, {.labels = 64});
  CHECK(wide.labels == 64);
  CHECK(wide.label[63] == 1);
  CHECK(wide.label[62] == 0);
}

TEST_CASE("arff: every kind of bad line is named with its place") {
  check_arff(kHeader + "1,2,0,1\n1,?,0,1\n", {"line 8", "'y'", "missing"});
  check_arff(kHeader + "1,'?',0,1\n", {"line 7", "'y'", "not a number"});
  check_arff(kHeader + "1,2,0\n", {"line 7", "3 values", "of the 4 declared"});
  check_arff(kHeader + "1,2,0,1,5\n", {"line 7", "4 values", "',5'"});
  check_arff(kHeader + "1,2,0,1,{5}\n", {"line 7", "goes on"});
  check_arff(kHeader + "1,two,0,1\n", {"line 7", "'y'", "'two'", "not a number"});
  check_arff(kHeader + "1,,0,1\n", {"line 7", "'y'", "no value"});
  check_arff(kHeader + "1,nan,0,1\n", {"line 7", "'y'", "not finite"});
  check_arff(kHeader + "1,1e999,0,1\n", {"line 7", "'y'", "not finite"});
  check_arff(kHeader + "1,2 3,0,1\n", {"line 7", "'y'", "comma"});
  check_arff(kHeader + "1,2,0,2\n", {"line 7", "'b'", "0 or 1"});
  check_arff(kHeader + "1,'2,0,1\n", {"line 7", "'y'", "quote"});
  check_arff(kHeader + "1,2,0,1\n{0 1}\n", {"line 8", "sparse"});
  check_arff(kHeader + "{0 1}\n1,2,0,1\n", {"line 8", "dense"});
  check_arff(kHeader + "{0 1,4 1}\n", {"line 7", "attribute 4", "0 to 3"});
  check_arff(kHeader + "{0 1,-1 1}\n", {"line 7", "number of an attribute"});
  check_arff(kHeader + "{0 1,99999999999999999999999 1}\n", {"line 7", "no attribute"});
  check_arff(kHeader + "{0 1,1 1\n", {"line 7", "}"});
  check_arff(kHeader + "{0 1,}\n", {"line 7"});
  check_arff(kHeader + "{0 1\n", {"line 7"});
  check_arff(kHeader + "{\n", {"line 7"});
  check_arff(kHeader + "{0}\n", {"line 7", "'x'", "no value"});
  check_arff(kHeader + "{0 ?}\n", {"line 7", "'x'", "missing"});
  check_arff(kHeader + "{0 1 1 1}\n", {"line 7", "'x'", "comma"});
  check_arff(kHeader + "{0 1,0 2}\n", {"line 7", "'x'", "twice"});
  check_arff(kHeader + "{3 1,3 0}\n", {"line 7", "'b'", "twice"});
  check_arff(kHeader + "{0 1} 5\n", {"line 7", "behind }"});
  check_arff("@attribute x {2,3}\n@attribute a {0,1}\n@data\n4,1\n", {"line 4", "'x'", "declared"}, {.labels = 1});
}

TEST_CASE("arff: every kind of bad declaration is named with its place") {
  check_arff("", {"empty"});
  check_arff("@relation x\n@attribute a {0,1}\n", {"no line @data"});
  check_arff("1,2,3\n", {"line 1", "'1,2,3'", "@attribute"});
  check_arff("@relation x\n@data\n1\n", {"line 2", "no attribute"});
  check_arff("@attribute\n@data\n", {"line 1", "no name"});
  check_arff("@attribute x\n@data\n", {"line 1", "'x'", "no type"});
  check_arff("@attribute x string\n@data\n", {"line 1", "'x'", "'string'"});
  check_arff("@attribute x date yyyy\n@data\n", {"line 1", "'x'", "'date'"});
  check_arff("@attribute my x numeric\n@data\n", {"line 1", "'my'"});
  check_arff("@attribute x numeric y\n@data\n", {"line 1", "'x'", "'y'"});
  check_arff("@attribute x {0,1\n@data\n", {"line 1", "'x'", "}"});
  check_arff("@attribute x {0 1}\n@data\n", {"line 1", "'x'", "comma"});
  check_arff("@attribute x {red,green}\n@data\n", {"line 1", "'x'", "'red'"});
  check_arff("@attribute x {}\n@data\n", {"line 1", "'x'"});
  check_arff("@attribute 'x numeric\n@data\n", {"line 1", "quote"});
  check_arff(kHeader, {"4 attributes", "5"}, {.labels = 5});
  check_arff(kHeader, {"'c'"}, {.label_names = {"a", "c"}});
  check_arff("@attribute a {0,1}\n@attribute a {0,1}\n@data\n", {"two attributes", "'a'"}, {.label_names = {"a"}});
  check_arff("@attribute a {-1,1}\n@data\n", {"'a'", "-1", "0 or 1"}, {.labels = 1});
  check_arff("@attribute a {1,0}\n@attribute b {0,1}\n@data\n{1 1}\n", {"line 4", "'a'", "first value"});
  check_arff(kHeader, {"which attributes are labels"}, {});
  check_arff(kHeader, {"which attributes are labels"}, {.labels = 1, .label_names = {"a"}});
  check_arff("\xFF\xFE@\0", {"UTF-16"});
  check_arff("\x1F\x8B\x08", {"compressed"});
  check_complaint(complaint([] { scrm::read_arff("/no/such.arff", {.labels = 1}); }),
                  "/no/such.arff: ", {"cannot read"});
}

TEST_CASE("arff: files with the same attributes are read as one, others are refused") {
  const Folder folder;
  write_bytes(folder / "set-train.arff", kHeader + "1,2,0,1\n");
  write_bytes(folder / "set-test.arff", kHeader + "3,4,1,1\n5,6,0,0\n");
  write_bytes(folder / "set-none.arff", kHeader);
  const LabelledData data =
      scrm::read_arff({folder / "set-none.arff", folder / "set-train.arff", folder / "set-test.arff"}, {.labels = 2});
  CHECK(data.rows == 3);
  CHECK(data.context == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(data.label == Bits{0, 1, 1, 1, 0, 0});
  CHECK(data.name == "set");
  const auto with = [&](const std::string& header) {
    write_bytes(folder / "other.arff", header);
    return complaint([&] { scrm::read_arff({folder / "set-train.arff", folder / "other.arff"}, {.labels = 2}); });
  };
  check_complaint(with("@attribute a {0,1}\n@attribute b {0,1}\n@data\n"),
                  "other.arff: ", {"2 attributes", "4", "set-train.arff"});
  check_complaint(with("@attribute x numeric\n@attribute z real\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n"),
                  "other.arff: ", {"attribute 2", "'z'", "'y'"});
  check_complaint(with("@attribute x numeric\n@attribute y real\n@attribute a {1,0}\n@attribute b {0,1}\n@data\n"),
                  "other.arff: ", {"'a'", "otherwise"});
}

TEST_CASE("label xml: names are found among comments, nested tags and entities") {
  const Folder folder;
  const auto names = [&](const std::string& text) {
    write_bytes(folder / "l.xml", text);
    return scrm::read_label_names(folder / "l.xml");
  };
  CHECK(
      names(
          "<?xml version=\"1.0\"?>\n<labels xmlns=\"u\">\n<label name=\"a b\"></label>\n<!-- <label name=\"no\"/> -->\n"
          "<label\n id='1' name = 'c&amp;&#233;&#x41;'><label name=\"d\"/></label></labels>") == Names{"a b",
                                                                                                       "c&\xC3\xA9"
                                                                                                       "A",
                                                                                                       "d"});
  const auto wrong = [&](const std::string& text) { return complaint([&] { names(text); }); };
  check_complaint(wrong("<labels></labels>"), "l.xml: ", {"no label"});
  check_complaint(wrong(""), "l.xml: ", {"no label"});
  check_complaint(wrong("<labels>\n<label></label>"), "l.xml: ", {"line 2", "no name"});
  check_complaint(wrong("<labels>\n<label name=x></label>"), "l.xml: ", {"line 2", "quotes"});
  check_complaint(wrong("<label name=\"x\"/>\n<label name=\"x\"/>"), "l.xml: ", {"line 2", "'x'", "twice"});
  check_complaint(wrong("<label name=\"x\""), "l.xml: ", {"does not end"});
}

TEST_CASE("libsvm: rows with several labels, one and none become sparse data") {
  scrm::LibsvmNumbering numbering;
  const LabelledData data = libsvm(
      "3,0 1:0.5 12:1\r\n 2:+1 # a row without labels\n2:4\n\n# nothing\n1\n2 12:-1 3:2e1 4:0\n", {}, &numbering);
  CHECK(data.rows == 5);
  CHECK(data.labels == 4);
  CHECK(data.features == 12);
  CHECK(data.sparse);
  CHECK(data.indptr == std::vector<std::int64_t>{0, 2, 3, 4, 4, 6});
  CHECK(data.indices == std::vector<std::int32_t>{0, 11, 1, 1, 2, 11});
  CHECK(data.values == Numbers{0.5, 1, 1, 4, 20, -1});
  CHECK(data.label == Bits{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  CHECK(numbering.first_label == 0);
  CHECK(numbering.first_feature == 1);
}

TEST_CASE("libsvm: what numbers count from is told by those that occur, or said") {
  const auto shape = [](const std::string& text, const scrm::LibsvmOptions& options) {
    scrm::LibsvmNumbering numbering;
    const LabelledData data = libsvm(text, options, &numbering);
    return std::vector<std::int64_t>{data.labels, data.features, numbering.first_label, numbering.first_feature};
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(shape("1,3 1:1 5:1\n", {}) == Shape{3, 5, 1, 1});
  CHECK(shape("0,3 0:1 5:1\n", {}) == Shape{4, 6, 0, 0});
  CHECK(shape("1,3 1:1\n", {.labels = 3}) == Shape{3, 1, 1, 1});
  CHECK(shape("1,3 1:1\n", {.labels = 8}) == Shape{8, 1, 0, 1});
  CHECK(shape("1,3 1:1\n", {.labels = 8, .features = 9, .first_label = 1, .first_feature = 0}) == Shape{8, 9, 1, 0});
  CHECK(shape(" 1:1\n", {.labels = 2}) == Shape{2, 1, 0, 1});
  CHECK(shape("", {.labels = 2, .features = 30438}) == Shape{2, 30438, 0, 1});
  CHECK(shape("63\n0\n", {}) == Shape{64, 0, 0, 1});
}

TEST_CASE("libsvm: several files are numbered alike") {
  const Folder folder;
  write_bytes(folder / "a-1.svm", "1 1:1\n");
  write_bytes(folder / "a-2.svm", "0 7:1\n");
  const LabelledData data = scrm::read_libsvm({folder / "a-1.svm", folder / "a-2.svm"}, {});
  CHECK(data.labels == 2);
  CHECK(data.features == 7);
  CHECK(data.label == Bits{0, 1, 1, 0});
  CHECK(data.name == "a");
}

TEST_CASE("libsvm: every kind of bad line is named with its token") {
  check_libsvm("1 1:1\n-1 1:1\n", {"line 2", "'-1'", "label"});
  check_libsvm("1.5 1:1\n", {"line 1", "'1.5'", "label"});
  check_libsvm("1,,2 1:1\n", {"line 1", "'1,,2'", "label"});
  check_libsvm("1, 1:1\n", {"line 1", "'1,'"});
  check_libsvm("a 1:1\n", {"line 1", "'a'"});
  check_libsvm("100000 1:1\n", {"line 1", "label 100000", "too large"});
  check_libsvm("99999999999999999999 1:1\n", {"line 1", "too large"});
  check_libsvm("1 2\n", {"line 1", "'2'", "12:0.5"});
  check_libsvm("1 x:2\n", {"line 1", "'x:2'", "feature"});
  check_libsvm("1 qid:2\n", {"line 1", "'qid:2'", "feature"});
  check_libsvm("1 -3:2\n", {"line 1", "'-3:2'", "feature"});
  check_libsvm("1 9999999999:2\n", {"line 1", "9999999999", "too large"});
  check_libsvm("1 3:\n", {"line 1", "'3:'", "not a number"});
  check_libsvm("1 3:x\n", {"line 1", "'3:x'", "not a number"});
  check_libsvm("1 3:1:2\n", {"line 1", "'3:1:2'", "not a number"});
  check_libsvm("1 3:nan\n", {"line 1", "'3:nan'", "not finite"});
  check_libsvm("1 3:1e999\n", {"line 1", "'3:1e999'", "not finite"});
  check_libsvm("1 3:1 3:2\n", {"line 1", "feature 3", "twice"});
  check_libsvm(" 1:1\n", {"no row has a label"});
  check_libsvm("", {"no row has a label"});
  check_libsvm("1 1:1\n0,5 1:1\n", {"line 2", "label 5", "the 4 asked for"}, {.labels = 4});
  check_libsvm("1 1:1\n1 9:1\n", {"line 2", "feature 9", "the 8 asked for"}, {.features = 8});
  check_libsvm("1 1:1\n1 0:1\n", {"line 2", "feature 0"}, {.first_feature = 1});
  check_libsvm("1 1:1\n0 1:1\n", {"line 2", "label 0"}, {.first_label = 1});
  check_libsvm("1 1:1\n", {"from 0 or from 1"}, {.first_label = 2});
  check_libsvm("1 1:1\n", {"-1 labels"}, {.labels = -1});
}

TEST_CASE("any labelled: the format is told by the ending and labels by the xml beside it") {
  const Folder folder;
  write_bytes(folder / "set-train-1.arff", kHeader + "1,2,0,1\n");
  const std::vector<std::string> paths = {folder / "set-train-1.arff"};
  check_complaint(complaint([&] { scrm::read_any_labelled(paths); }),
                  "set-train-1.arff: ", {"--labels", "set-train-1.xml", "set-train.xml", "set.xml"});
  write_bytes(folder / "set.xml", "<labels><label name=\"b\"/></labels>");
  CHECK(scrm::find_label_xml(paths[0]) == folder / "set.xml");
  CHECK(scrm::read_any_labelled(paths).labels == 1);
  write_bytes(folder / "set-train.xml", "<labels><label name=\"b\"/><label name=\"a\"/></labels>");
  CHECK(scrm::read_any_labelled(paths).labels == 2);
  CHECK(scrm::read_any_labelled(paths, {.label_xml = folder / "set.xml"}).labels == 1);
  CHECK(scrm::read_any_labelled(paths, {.labels = 1}).label_names == Names{"b"});

  write_bytes(folder / "x.TXT", "0,1 1:1\n");
  CHECK(scrm::read_any_labelled({folder / "x.TXT"}).labels == 2);
  CHECK(scrm::read_any_labelled({folder / "x.TXT"}, {.labels = 5, .features = 7}).features == 7);
  const auto wrong = [&](const std::vector<std::string>& files, const scrm::LabelledOptions& options) {
    return complaint([&] { scrm::read_any_labelled(files, options); });
  };
  check_complaint(wrong({folder / "x.csv"}, {}), "x.csv: ", {"ending"});
  check_complaint(wrong({paths[0], folder / "x.TXT"}, {}), "x.TXT: ", {"another format"});
  check_complaint(wrong({folder / "x.TXT"}, {.label_xml = "l.xml"}), "x.TXT: ", {".xml"});
  check_complaint(wrong(paths, {.features = 3}), "set-train-1.arff: ", {"LIBSVM"});
  check_complaint(wrong(paths, {.labels = 1, .label_xml = "l.xml"}), "set-train-1.arff: ", {"not as both"});
  check_complaint(wrong({folder / "x.h5"}, {.labels = 1}), "x.h5: ", {"itself"});
  CHECK(wrong({}, {}) != "no error");
}
