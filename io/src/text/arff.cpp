#include "scrm/io/arff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/io/error.hpp"
#include "scrm/io/numbers.hpp"
#include "scrm/io/spelling.hpp"
#include "text/arff_header.hpp"
#include "text/sparse_row.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

/// Where an attribute goes.
struct Role {
  bool label = false;
  std::int64_t index = 0;  ///< among the labels or among the features
};

/// What may stand behind a value.
inline bool ends_value(char c) noexcept {
  return c == ',' || is_blank(c) || c == '}' || c == '%';
}

class ArffReader {
 public:
  explicit ArffReader(const ArffOptions& options) : options_(options) {}

  void read(const std::string& path) {
    TextFile file(path, options_.max_bytes);
    file_ = &file;
    if (first_path_.empty()) {
      attributes_ = read_arff_header(file);
      first_path_ = path;
      assign_roles();
    } else {
      check_attributes(read_arff_header(file));
    }
    while (file.next()) read_line();
  }

  LabelledData take() { return std::move(data_); }

 private:
  void assign_roles();
  void mark_last_labels();
  void mark_named_labels();
  void check_attributes(const std::vector<ArffAttribute>& others) const;

  void read_line();
  void begin_rows(bool sparse);
  void read_dense(const char* at, const char* end);
  void read_sparse(const char* at, const char* end);
  const char* read_index(const char* at, const char* end, std::size_t& attribute) const;
  /// Reads the value of attribute j that begins at `at`; returns what follows it and the blanks behind it.
  const char* read_value(const char* at, const char* end, std::size_t j, double& value) const;
  const char* read_value_slowly(const char* at, const char* end, std::size_t j, double& value) const;
  void check_value(std::size_t j, double value) const;
  [[noreturn]] void fail(std::size_t j, const std::string& what) const {
    file_->fail(fmt::format("attribute '{}' {}", attributes_[j].name, what));
  }

  const ArffOptions& options_;
  const TextFile* file_ = nullptr;  // the one that is being read
  std::string first_path_;
  std::vector<ArffAttribute> attributes_;
  std::vector<Role> roles_;
  bool kind_known_ = false;  // whether a row was there to tell dense from sparse
  SparseRow row_;
  std::vector<std::size_t> given_;  // the attributes of a sparse row, labels among them
  LabelledData data_;
};

void ArffReader::assign_roles() {
  roles_.resize(attributes_.size());
  options_.label_names.empty() ? mark_last_labels() : mark_named_labels();
  for (std::size_t j = 0; j < roles_.size(); ++j) {
    roles_[j].index = roles_[j].label ? data_.labels++ : data_.features++;
    if (!roles_[j].label) continue;
    data_.label_names.push_back(attributes_[j].name);
    for (const double value : attributes_[j].values) {
      if (value != 0 && value != 1) fail(j, fmt::format("is a label but may be {}; labels are 0 or 1", value));
    }
  }
}

void ArffReader::mark_last_labels() {
  const auto labels = static_cast<std::size_t>(options_.labels);
  if (labels > attributes_.size())
    file_->fail_file(
        fmt::format("declares {} attributes, so the last {} cannot be labels", attributes_.size(), labels));
  for (std::size_t j = attributes_.size() - labels; j < attributes_.size(); ++j) roles_[j].label = true;
}

void ArffReader::mark_named_labels() {
  std::vector<std::string> known;
  for (const ArffAttribute& attribute : attributes_) known.push_back(attribute.name);
  for (const std::string& name : options_.label_names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end())
      file_->fail_file(fmt::format("no attribute has the name of label '{}'; {}", name, suggestion(name, known)));
    if (std::find(at + 1, known.end(), name) != known.end())
      file_->fail_file(fmt::format("two attributes have the name of label '{}'", name));
    roles_[static_cast<std::size_t>(at - known.begin())].label = true;
  }
}

void ArffReader::check_attributes(const std::vector<ArffAttribute>& others) const {
  if (others.size() != attributes_.size())
    file_->fail_file(
        fmt::format("declares {} attributes, but {} declares {}", others.size(), first_path_, attributes_.size()));
  for (std::size_t j = 0; j < others.size(); ++j) {
    if (others[j].name != attributes_[j].name)
      file_->fail_file(fmt::format("attribute {} is '{}', but in {} it is '{}'", j + 1, others[j].name, first_path_,
                                   attributes_[j].name));
    if (others[j].values != attributes_[j].values)
      file_->fail_file(fmt::format("attribute '{}' is declared otherwise in {}", others[j].name, first_path_));
  }
}

void ArffReader::begin_rows(bool sparse) {
  kind_known_ = true;
  data_.sparse = sparse;
  if (!sparse) return;
  data_.indptr.push_back(0);
  for (std::size_t j = 0; j < attributes_.size(); ++j) {
    const auto& values = attributes_[j].values;
    if (values.empty() || values.front() == 0) continue;
    fail(j, fmt::format("has {} as its first value, and sparse rows leave the first value out; declare 0 first",
                        values.front()));
  }
}

void ArffReader::read_line() {
  const std::string_view line = trimmed(file_->line());
  if (line.empty() || line.front() == '%') return;
  const bool sparse = line.front() == '{';
  if (!kind_known_) begin_rows(sparse);
  if (sparse != data_.sparse)
    file_->fail(sparse ? "this row is sparse, but those before it are dense"
                       : "this row is dense, but those before it are sparse");
  data_.label.resize(data_.label.size() + static_cast<std::size_t>(data_.labels));
  const char* end = line.data() + line.size();
  sparse ? read_sparse(line.data() + 1, end) : read_dense(line.data(), end);
  ++data_.rows;
}

void ArffReader::read_dense(const char* at, const char* end) {
  const std::size_t before = data_.context.size();
  data_.context.resize(before + static_cast<std::size_t>(data_.features));
  double* const features = data_.context.data() + before;
  std::uint8_t* const labels = data_.label.data() + data_.label.size() - data_.labels;
  const std::size_t count = attributes_.size();
  for (std::size_t j = 0; j < count; ++j) {
    double value = 0;
    at = read_value(at, end, j, value);
    if (roles_[j].label) {
      labels[roles_[j].index] = static_cast<std::uint8_t>(value);
    } else {
      features[roles_[j].index] = value;
    }
    if (j + 1 == count) break;
    if (at == end || *at == '%')
      file_->fail(fmt::format("this row has {} values, but {} attributes are declared", j + 1, count));
    if (*at != ',') fail(j, fmt::format("is followed by '{}' where a comma should be", excerpt({at, end})));
    ++at;
  }
  if (at != end && *at != '%')
    file_->fail(fmt::format("this row goes on behind the last of its {} values: '{}'", count, excerpt({at, end})));
}

void ArffReader::read_sparse(const char* at, const char* end) {
  std::uint8_t* const labels = data_.label.data() + data_.label.size() - data_.labels;
  row_.clear();
  given_.clear();
  const auto skip_blanks = [&] {
    while (at != end && is_blank(*at)) ++at;
  };
  skip_blanks();
  bool more = at == end || *at != '}';
  if (!more) ++at;
  while (more) {
    std::size_t j = 0;
    double value = 0;
    at = read_index(at, end, j);
    given_.push_back(j);
    at = read_value(at, end, j, value);
    if (roles_[j].label) {
      labels[roles_[j].index] = static_cast<std::uint8_t>(value);
    } else {
      row_.add(roles_[j].index, value);
    }
    if (at == end) file_->fail("this sparse row does not end in }");
    if (*at != ',' && *at != '}')
      fail(j, fmt::format("is followed by '{}' where a comma should be", excerpt({at, end})));
    more = *at++ == ',';
  }
  skip_blanks();
  if (at != end && *at != '%') file_->fail(fmt::format("this row goes on behind }}: '{}'", excerpt({at, end})));
  std::sort(given_.begin(), given_.end());
  const auto twice = std::adjacent_find(given_.begin(), given_.end());
  if (twice != given_.end()) fail(*twice, "is given twice in this row");
  row_.append_to(data_);
}

const char* ArffReader::read_index(const char* at, const char* end, std::size_t& attribute) const {
  while (at != end && is_blank(*at)) ++at;
  const char* const behind = std::find_if(at, end, ends_value);
  const std::string_view text(at, static_cast<std::size_t>(behind - at));
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0)
    file_->fail(fmt::format("'{}' does not begin with the number of an attribute", excerpt({at, end})));
  attribute = static_cast<std::size_t>(*number);
  if (attribute >= attributes_.size())
    file_->fail(fmt::format("there is no attribute {}; the {} declared count from 0 to {}", text, attributes_.size(),
                            attributes_.size() - 1));
  return behind;
}

const char* ArffReader::read_value(const char* at, const char* end, std::size_t j, double& value) const {
  while (at != end && is_blank(*at)) ++at;
  const char* const behind = std::find_if(at, end, ends_value);
  const std::optional<double> plain = parse_double({at, static_cast<std::size_t>(behind - at)});
  if (plain) value = *plain;
  at = plain ? behind : read_value_slowly(at, end, j, value);
  check_value(j, value);
  while (at != end && is_blank(*at)) ++at;
  return at;
}

const char* ArffReader::read_value_slowly(const char* at, const char* end, std::size_t j, double& value) const {
  std::string_view rest(at, static_cast<std::size_t>(end - at));
  std::string text;
  if (!take_word(rest, ",}%", text)) fail(j, fmt::format("has a quote that is not closed: {}", excerpt(rest)));
  if (text == "?" && *at == '?') fail(j, "is missing ('?'); fill it in or remove the row");
  if (text.empty()) fail(j, "has no value");
  const std::optional<double> number = parse_double(text);
  if (!number) fail(j, fmt::format("is '{}', which is not a number", excerpt(text)));
  value = *number;
  return rest.data();
}

void ArffReader::check_value(std::size_t j, double value) const {
  if (!std::isfinite(value)) fail(j, fmt::format("is {}, which is not finite", value));
  if (roles_[j].label && value != 0 && value != 1)
    fail(j, fmt::format("is {}, but it is a label: these are 0 or 1", value));
  const auto& allowed = attributes_[j].values;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    fail(j, fmt::format("is {}, which is not among the values it was declared with", value));
}

}  // namespace

LabelledData read_arff(const std::string& path, const ArffOptions& options) {
  return read_arff(std::vector<std::string>{path}, options);
}

LabelledData read_arff(const std::vector<std::string>& paths, const ArffOptions& options) {
  if (paths.empty()) throw Error(ErrorKind::usage, "there is no ARFF file to read");
  if (options.labels < 0 || (options.labels > 0) == !options.label_names.empty())
    throw Error(ErrorKind::usage, "say which attributes are labels: how many at the end, or their names",
                {.file = paths.front()});
  ArffReader reader(options);
  for (const std::string& path : paths) reader.read(path);
  LabelledData data = reader.take();
  data.name = common_name(paths);
  return data;
}

}  // namespace scrm
