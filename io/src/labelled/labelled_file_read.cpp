#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "array/stored_array.hpp"
#include "array/tile.hpp"
#include "hdf5/hdf5_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/labelled/labelled_file.hpp"
#include "text/sparse_row.hpp"

namespace scrm {
namespace {

constexpr const char* kFormat = "scrm-labelled";
// What is fetched together: a few megabytes.
constexpr double kRowsAtOnce = 1 << 14;
constexpr double kBytesAtOnce = 2 << 20;

class LabelledReader {
 public:
  LabelledReader(const std::string& path, std::size_t memory)
      : file_(path, std::make_shared<BufferPool>()),
        memory_(memory > 0
                    ? static_cast<double>(memory)
                    : static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE))) {}

  LabelledData read() {
    check_root();
    read_labels();
    read_names();
    read_context();
    file_.require_disjoint_arrays();
    return std::move(data_);
  }

 private:
  void check_root();
  void read_labels();
  void read_classes(StoredArray& label);
  void read_names();
  void read_context();
  void read_dense();
  void read_sparse();
  void check_entries(const StoredArray& indices, const StoredArray& values);

  StoredArray open(const std::string& name) const {
    const ObjectType type = file_.object_type(name);
    if (type == ObjectType::none) fail(name, "there is no such dataset");
    if (type != ObjectType::dataset) fail(name, "is not a dataset");
    return {file_, name};
  }

  void require_rows(const StoredArray& array) const {
    if (array.rows() != data_.rows)
      fail(array.name(), fmt::format("has {}, but label has {}", count_of(array.rows(), "row"), data_.rows));
  }

  /// Bytes that a row takes while it is read, as the file has it and as numbers.
  static double reading_bytes(const StoredArray& array) {
    return array.memory_cost().per_row + static_cast<double>(array.width()) * sizeof(double);
  }

  /// Rows that are fetched together; of compressed chunks whole ones, which are decoded at once.
  static std::int64_t rows_at_once(const StoredArray& array) {
    const auto rows = static_cast<std::int64_t>(std::clamp(kBytesAtOnce / reading_bytes(array), 1.0, kRowsAtOnce));
    const std::int64_t chunk = array.chunk_rows();
    return chunk == 0 ? rows : std::max(chunk, rows / chunk * chunk);
  }

  /// Takes memory for as many numbers as the array has, of so many bytes each. Throws where there is not enough left,
  /// as for shapes that a damaged file may claim.
  void take_memory(const StoredArray& array, std::size_t element_bytes) {
    const double numbers = static_cast<double>(array.rows()) * static_cast<double>(array.width());
    const double reading = reading_bytes(array) * static_cast<double>(std::min(array.rows(), rows_at_once(array)));
    const double needed = numbers * static_cast<double>(element_bytes);
    if (taken_ + needed + reading > memory_)
      throw Error(ErrorKind::memory,
                  fmt::format("has {} of {}, which take {:.1f} MB; labelled data is held in memory, and the budget "
                              "leaves {:.1f} MB; give a larger --memory",
                              count_of(array.rows(), "row"), count_of(array.width(), "number"),
                              (needed + reading) * 1e-6, std::max(0.0, memory_ - taken_) * 1e-6),
                  {.file = *file_.path(), .dataset = array.name()});
    taken_ += needed;
  }

  /// Calls visitor(row, column, value) for every number of the array, rows in order within a column of chunks.
  template <class Visitor>
  void visit(StoredArray& array, Visitor&& visitor) const {
    ReadBuffer buffer;
    const std::int64_t step = rows_at_once(array);
    for (std::int64_t first = 0; first < array.rows(); first += step) {
      const RawArray raw = array.fetch(file_, first, std::min(step, array.rows() - first));
      for (const RawTile& part : raw.tiles) {
        Tile tile;
        tile.element = raw.element;
        tile.data = part.bytes->data_at(part.offset, static_cast<std::size_t>(part.rows) * part.row_bytes, buffer);
        tile.row_bytes = part.row_bytes;
        tile.rows = static_cast<int>(part.rows);
        tile.columns = part.columns;
        for_each_value(tile, [&](int row, std::int64_t column, double value) {
          visitor(part.row + row, part.column + column, value);
        });
      }
    }
  }

  [[noreturn]] void fail(const std::string& dataset, const std::string& what,
                         std::optional<std::int64_t> row = std::nullopt) const {
    throw Error(ErrorKind::data, what, {.file = *file_.path(), .dataset = dataset, .row = row});
  }

  Hdf5File file_;
  double memory_;
  double taken_ = 0;
  LabelledData data_;
};

void LabelledReader::check_root() {
  const auto format = file_.text_attribute("/", "format");
  if (!format) fail("", fmt::format("has no attribute format; a labelled data set has format = \"{}\"", kFormat));
  if (*format == "scrm-log")
    fail("", "holds logs, not a labelled data set; `scrm import` makes one from ARFF or LIBSVM");
  if (*format != kFormat) fail("attribute format", fmt::format("is \"{}\", \"{}\" is needed", *format, kFormat));
  const auto version = file_.integer_attribute("/", "format_version");
  if (!version) fail("", "has no attribute format_version; this program reads version 1");
  if (*version != 1) fail("attribute format_version", fmt::format("is {}, this program reads version 1", *version));
  data_.name = file_.text_attribute("/", "name").value_or("");
}

void LabelledReader::read_labels() {
  StoredArray label = open("label");
  if (label.rank() == 1) return read_classes(label);
  if (label.rank() != 2 || label.width() < 1)
    fail("label", "must have two dimensions, rows and labels, or one, the class of every row");
  if (label.width() > std::numeric_limits<int>::max()) fail("label", "has too many labels");
  take_memory(label, 1);
  data_.rows = label.rows();
  data_.labels = static_cast<int>(label.width());
  data_.label.resize(static_cast<std::size_t>(label.rows()) * static_cast<std::size_t>(label.width()));
  visit(label, [&](std::int64_t row, std::int64_t column, double value) {
    if (value != 0 && value != 1)
      fail(fmt::format("label[:, {}]", column), fmt::format("{} is neither 0 nor 1", value), row);
    data_.label[static_cast<std::size_t>(row * data_.labels + column)] = static_cast<std::uint8_t>(value);
  });
}

void LabelledReader::read_classes(StoredArray& label) {
  if (is_float(label.element())) fail("label", "holds real numbers; classes are integers from 0");
  take_memory(label, sizeof(std::int32_t));
  const std::optional<std::int64_t> stated = file_.integer_attribute("/", "num_classes");
  if (stated && (*stated < 1 || *stated > std::numeric_limits<std::int32_t>::max()))
    fail("attribute num_classes", fmt::format("is {}, which is out of range", *stated));
  const bool named = file_.object_type("label_names") != ObjectType::none;
  const std::int64_t names = named ? static_cast<std::int64_t>(file_.texts("label_names").size()) : 0;
  const std::int64_t known = stated ? *stated : names;
  const std::int64_t most = known > 0 ? known - 1 : std::int64_t{std::numeric_limits<std::int32_t>::max()} - 1;
  data_.multiclass = true;
  data_.rows = label.rows();
  data_.category.resize(static_cast<std::size_t>(label.rows()));
  std::int32_t largest = -1;
  visit(label, [&](std::int64_t row, std::int64_t, double value) {
    if (!(value >= 0 && value <= static_cast<double>(most)))
      fail("label", fmt::format("{} is no class; classes are numbered from 0 to {}", value, most), row);
    const auto category = static_cast<std::int32_t>(value);
    largest = std::max(largest, category);
    data_.category[static_cast<std::size_t>(row)] = category;
  });
  data_.labels = known > 0 ? static_cast<int>(known) : largest + 1;
  if (data_.labels < 1) fail("label", "has no rows, and num_classes does not say how many classes there are");
}

void LabelledReader::read_names() {
  const char* const name = "label_names";
  if (file_.object_type(name) == ObjectType::none) return;
  data_.label_names = file_.texts(name);
  if (data_.label_names.size() != static_cast<std::size_t>(data_.labels))
    fail(name,
         fmt::format("has {} for {}", count_of(data_.label_names.size(), "name"), count_of(data_.labels, "label")));
}

void LabelledReader::read_context() {
  switch (file_.object_type("context")) {
    case ObjectType::none:
      return;
    case ObjectType::group:
      return read_sparse();
    default:
      return read_dense();
  }
}

void LabelledReader::read_dense() {
  StoredArray context = open("context");
  if (context.rank() != 2) fail("context", "must have two dimensions, rows and features");
  require_rows(context);
  take_memory(context, sizeof(double));
  data_.features = context.width();
  data_.context.resize(static_cast<std::size_t>(data_.rows) * static_cast<std::size_t>(data_.features));
  visit(context, [&](std::int64_t row, std::int64_t column, double value) {
    if (!std::isfinite(value)) fail(fmt::format("context[:, {}]", column), fmt::format("{} is not finite", value), row);
    data_.context[static_cast<std::size_t>(row * data_.features + column)] = value;
  });
}

void LabelledReader::check_entries(const StoredArray& indices, const StoredArray& values) {
  for (const StoredArray* array : {&indices, &values}) {
    if (array->width() != 1) fail(array->name(), fmt::format("must have one column, it has {}", array->width()));
    take_memory(*array, 2 * sizeof(double));  // as they come, and in order
  }
  if (is_float(indices.element())) fail(indices.name(), "holds real numbers, integers are needed");
  if (indices.rows() != values.rows())
    fail(indices.name(), fmt::format("has {} entries, but context/values has {}", indices.rows(), values.rows()));
}

void LabelledReader::read_sparse() {
  const auto features = file_.integer_attribute("context", "num_features");
  if (!features) fail("context", "has no attribute num_features, which sparse contexts need");
  if (*features < 0 || *features > std::numeric_limits<std::int32_t>::max())
    fail("context attribute num_features", fmt::format("is {}, which is out of range", *features));
  data_.sparse = true;
  data_.features = *features;
  StoredArray indptr = open("context/indptr");
  StoredArray indices = open("context/indices");
  StoredArray values = open("context/values");
  check_entries(indices, values);
  if (indptr.width() != 1 || is_float(indptr.element())) fail(indptr.name(), "must be a list of integers");
  if (indptr.rows() != data_.rows + 1)
    fail(indptr.name(), fmt::format("has {} values, but label has {} rows, which needs {}", indptr.rows(), data_.rows,
                                    data_.rows + 1));
  const std::vector<std::int64_t> offsets = indptr.read_offsets(file_, 0, data_.rows, indices.rows());
  if (offsets.back() != indices.rows())
    fail(indptr.name(), fmt::format("ends at {}, but there are {} entries", offsets.back(), indices.rows()),
         data_.rows);
  const auto row_of = [&](std::int64_t entry) {
    return std::upper_bound(offsets.begin(), offsets.end(), entry) - offsets.begin() - 1;
  };
  std::vector<std::int32_t> features_of(static_cast<std::size_t>(indices.rows()));
  visit(indices, [&](std::int64_t entry, std::int64_t, double value) {
    if (value < 0 || value >= static_cast<double>(data_.features))
      fail(indices.name(), fmt::format("feature {} is not among the {} there are", value, data_.features),
           row_of(entry));
    features_of[static_cast<std::size_t>(entry)] = static_cast<std::int32_t>(value);
  });
  std::vector<double> numbers(features_of.size());
  visit(values, [&](std::int64_t entry, std::int64_t, double value) {
    if (!std::isfinite(value)) fail(values.name(), fmt::format("{} is not finite", value), row_of(entry));
    numbers[static_cast<std::size_t>(entry)] = value;
  });

  data_.indptr.reserve(offsets.size());
  data_.indices.reserve(numbers.size());
  data_.values.reserve(numbers.size());
  data_.indptr.push_back(0);
  SparseRow entries;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    entries.clear();
    for (auto e = static_cast<std::size_t>(offsets[row]); e < static_cast<std::size_t>(offsets[row + 1]); ++e)
      entries.add(features_of[e], numbers[e]);
    if (const auto twice = entries.append_to(data_))
      fail(indices.name(), fmt::format("feature {} is given twice", *twice), static_cast<std::int64_t>(row));
  }
}

}  // namespace

LabelledData read_labelled(const std::string& path, std::size_t memory) {
  return LabelledReader(path, memory).read();
}

bool is_labelled(const std::string& path) {
  try {
    return Hdf5File(path, nullptr).text_attribute("/", "format") == kFormat;
  } catch (const Error&) {
    return false;  // whoever opens it for good says what is wrong
  }
}

}  // namespace scrm
