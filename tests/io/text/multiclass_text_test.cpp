// labels: fast io
#include <doctest/doctest.h>

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
using Classes = std::vector<std::int32_t>;
using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

LabelledData read(const std::string& name, const std::string& text, const scrm::LabelledOptions& options = {}) {
  const Folder folder;
  write_bytes(folder / name, text);
  return scrm::read_any_labelled({folder / name}, options);
}

void check_complaint(const std::string& name, const std::string& text, const Names& parts,
                     const scrm::LabelledOptions& options = {}) {
  const std::string message = complaint([&] { read(name, text, options); });
  INFO("complaint: " << message);
  CHECK(holds(message, name));
  for (const std::string& part : parts) {
    INFO("missing: " << part);
    CHECK(holds(message, part));
  }
}

const std::string kFlowers =
    "@relation flowers\n@attribute width real\n@attribute colour {red, 'dark blue', green}\n"
    "@attribute species {rosa, 'rosa alba', viola}\n@data\n";

}  // namespace

TEST_CASE("multiclass arff: a nominal attribute at the end is the class, texts among the features are levels") {
  const LabelledData data =
      read("in.arff", kFlowers + "1.5,red,viola\n2,'dark blue','rosa alba' % why\n3, green ,viola\n");
  CHECK(data.multiclass);
  CHECK(data.rows == 3);
  CHECK(data.labels == 3);
  CHECK(data.label_names == Names{"rosa", "rosa alba", "viola"});
  CHECK(data.category == Classes{2, 1, 2});
  CHECK(data.label.empty());
  // The first level is what the others are compared with.
  CHECK(data.features == 3);
  CHECK(data.context == Numbers{1.5, 0, 0, 2, 1, 0, 3, 0, 1});
}

TEST_CASE("multiclass arff: sparse rows leave out the first class and the first level") {
  const LabelledData data = read("in.arff", kFlowers + "{0 1.5, 2 viola}\n{}\n{1 green}\n");
  CHECK(data.sparse);
  CHECK(data.category == Classes{2, 0, 0});
  CHECK(data.indptr == std::vector<std::int64_t>{0, 1, 1, 2});
  CHECK(data.indices == std::vector<std::int32_t>{0, 2});
  CHECK(data.values == Numbers{1.5, 1});
}

TEST_CASE("multiclass arff: the class may stand anywhere and be a number") {
  const std::string header = "@attribute kind numeric\n@attribute x numeric\n@attribute y numeric\n@data\n";
  const LabelledData data = read("in.arff", header + "7,1,2\n-1,3,4\n7.0,5,6\n", {.class_name = "kind"});
  CHECK(data.labels == 2);
  CHECK(data.label_names == Names{"-1", "7"});
  CHECK(data.category == Classes{1, 0, 1});
  CHECK(data.context == Numbers{1, 2, 3, 4, 5, 6});
  // Declared numbers are classes in the order declared, written in any way.
  const LabelledData digits = read("in.arff", "@attribute x real\n@attribute d {1,2,0}\n@data\n5,0\n6,1.0\n");
  CHECK(digits.label_names == Names{"1", "2", "0"});
  CHECK(digits.category == Classes{2, 0});
  CHECK(read("in.arff", header + "1,2,3\n", {.multiclass = true}).label_names == Names{"3"});
}

TEST_CASE("multiclass arff: what is no class, and values that were not declared, are named") {
  check_complaint("in.arff", kFlowers + "1,red,rose\n", {"line 6", "'species'", "'rose'", "declared"});
  check_complaint("in.arff", kFlowers + "1,blue,rosa\n", {"line 6", "'colour'", "'blue'", "declared"});
  check_complaint("in.arff", kFlowers + "1,red,?\n", {"line 6", "'species'", "missing"});
  check_complaint("in.arff", kFlowers + "1,red,rosa\n", {"specie", "did you mean"}, {.class_name = "specie"});
  check_complaint("in.arff", "@attribute a {x,x}\n@data\nx\n", {"'a'", "'x'", "twice"});
  check_complaint("in.arff", kFlowers + "1,red,rosa\n", {"not both"}, {.multiclass = true, .labels = 1});
  // Bits side by side may be labels, and numbers at the end anything.
  for (const char* last : {"{0,1}", "numeric"}) {
    check_complaint("in.arff", "@attribute x {0,1}\n@attribute y " + std::string(last) + "\n@data\n0,1\n",
                    {"which attributes are labels", "--labels", "--class"});
  }
  CHECK(read("in.arff", "@attribute x real\n@attribute y {0,1}\n@data\n3,1\n").multiclass);
}

TEST_CASE("multiclass libsvm: every row begins with its class, a number from anywhere or a text") {
  const LabelledData data = read("in.svm", "2 1:0.5 3:1\n+1 2:7\n2\n10 1:1\n", {.multiclass = true});
  CHECK(data.multiclass);
  CHECK(data.label_names == Names{"1", "2", "10"});
  CHECK(data.category == Classes{1, 0, 1, 2});
  CHECK(data.features == 3);
  CHECK(data.indptr == std::vector<std::int64_t>{0, 2, 3, 3, 4});
  CHECK(read("in.svm", "-1 1:2\n+1 1:3\n-1 1:1\n", {.multiclass = true}).category == Classes{0, 1, 0});
  const LabelledData texts = read("in.svm", "pear 1:2\napple 1:1\n", {.multiclass = true});
  CHECK(texts.label_names == Names{"apple", "pear"});
  CHECK(texts.category == Classes{1, 0});
  // Unless it is said, rows with one label each are multilabel data, as ever.
  CHECK_FALSE(read("in.svm", "2 1:0.5\n1 2:7\n").multiclass);
  check_complaint("in.svm", "1,2 1:5\n", {"line 1", "'1,2'", "one class"}, {.multiclass = true});
  check_complaint("in.svm", "1 1:5\n1:5\n", {"line 2", "class"}, {.multiclass = true});
  check_complaint("in.svm", "\n", {"no rows"}, {.multiclass = true});
  check_complaint("in.svm", "1 1:5\n", {"those that occur"}, {.multiclass = true, .labels = 3});
  check_complaint("in.svm", "1 1:5\n", {"--multiclass"}, {.class_name = "x"});
}

TEST_CASE("labelled csv: one column is the class, all others or those named are features") {
  const auto csv = [](const std::string& text, scrm::LabelledOptions options) {
    options.format = scrm::LabelledFormat::csv;
    return read("in.csv", text, options);
  };
  const std::string text = "id,species,x1,x2\n1,\"rosa, alba\",0.5,1\n2,viola,1e3,-2\n3,\"rosa, alba\",0,0\n";
  const LabelledData all = csv(text, {.class_name = "species"});
  CHECK(all.label_names == Names{"rosa, alba", "viola"});
  CHECK(all.category == Classes{0, 1, 0});
  CHECK(all.context == Numbers{1, 0.5, 1, 2, 1e3, -2, 3, 0, 0});
  CHECK(csv(text, {.class_name = "species", .context = {"x*"}}).context == Numbers{0.5, 1, 1e3, -2, 0, 0});
  CHECK(csv("y;x\n1;2\n", {.class_name = "y", .delimiter = ';'}).features == 1);
  CHECK(csv("y\nb\na\n", {.class_name = "y"}).category == Classes{1, 0});
  const auto wrong = [](const std::string& bad, const Names& parts, const std::string& name = "y") {
    check_complaint("in.csv", bad, parts, {.format = scrm::LabelledFormat::csv, .class_name = name});
  };
  wrong("y,x\n1,2\n2,red\n", {"line 3", "'x'", "'red'", "--context"});
  wrong("y,x\n1,\n", {"line 2", "'x'", "missing"});
  wrong("y,x\n,1\n", {"line 2", "'y'", "empty"});
  wrong("y,x\n1\n", {"line 2", "1 field", "2"});
  wrong("y,x\n", {"no rows"});
  wrong("why,x\n1,2\n", {"no column 'y'"});
  wrong("y,x\n1,2\n", {"--class"}, "");
  check_complaint("in.csv", "y,x\n1,2\n", {"which column is the class", "scrm import"});
}
