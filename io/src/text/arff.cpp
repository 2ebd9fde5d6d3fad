#include "scrm/io/labelled/arff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"
#include "text/arff_header.hpp"
#include "text/class_names.hpp"
#include "text/sparse_row.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

/// Where an attribute goes.
struct Role {
  enum class Kind : std::uint8_t { number, levels, label, category };
  Kind kind = Kind::number;
  std::int64_t index = 0;             ///< among the labels or among the features
  std::map<std::string, int> levels;  ///< numbers of the texts of `levels` and of a nominal class
};

/// A nominal attribute of 0 and 1, as labels are.
bool is_bit(const ArffAttribute& attribute) {
  return attribute.values == std::vector<double>{0, 1} || attribute.values == std::vector<double>{1, 0};
}

/// Whether the attributes end as those of files with a class do.
bool ends_in_class(const std::vector<ArffAttribute>& attributes) {
  const std::size_t count = attributes.size();
  if (attributes.back().levels.empty()) return false;
  return !is_bit(attributes.back()) || count < 2 || !is_bit(attributes[count - 2]);
}

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
      attributes_ = read_arff_header(file, options_.class_name.has_value());
      first_path_ = path;
      assign_roles();
    } else {
      check_attributes(read_arff_header(file, options_.class_name.has_value()));
    }
    while (file.next()) read_line();
  }

  LabelledData take() {
    if (data_.multiclass && data_.labels == 0) class_names_.finish(data_);
    return std::move(data_);
  }

 private:
  void assign_roles();
  void mark_class();
  void set_levels(std::size_t j);
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
  const char* read_level(const char* at, const char* end, std::size_t j, double& value) const;
  /// The next word of the row, unquoted; missing values are errors.
  const char* read_text(const char* at, const char* end, std::size_t j, std::string& text) const;
  void set_class(std::size_t j, double value);
  /// Of the row that is read.
  void set_label(std::int64_t index, double value) {
    data_.label[data_.label.size() - static_cast<std::size_t>(data_.labels - index)] = static_cast<std::uint8_t>(value);
  }
  void check_value(std::size_t j, double value) const;
  [[noreturn]] void fail(std::size_t j, const std::string& what) const {
    file_->fail(fmt::format("attribute '{}' {}", attributes_[j].name, what));
  }

  const ArffOptions& options_;
  const TextFile* file_ = nullptr;  // the one that is being read
  std::string first_path_;
  std::vector<ArffAttribute> attributes_;
  std::vector<Role> roles_;
  ClassNames class_names_;   // where the class is declared as a number
  bool kind_known_ = false;  // whether a row was there to tell dense from sparse
  SparseRow row_;
  std::vector<std::size_t> given_;  // the attributes of a sparse row, labels among them
  LabelledData data_;
};

void ArffReader::assign_roles() {
  roles_.resize(attributes_.size());
  if (options_.class_name) {
    mark_class();
  } else {
    options_.label_names.empty() ? mark_last_labels() : mark_named_labels();
  }
  for (std::size_t j = 0; j < roles_.size(); ++j) {
    if (options_.class_name) {
      set_levels(j);
      continue;
    }
    const bool label = roles_[j].kind == Role::Kind::label;
    roles_[j].index = label ? data_.labels++ : data_.features++;
    if (!label) continue;
    data_.label_names.push_back(attributes_[j].name);
    for (const double value : attributes_[j].values) {
      if (value != 0 && value != 1) fail(j, fmt::format("is a label but may be {}; labels are 0 or 1", value));
    }
  }
}

void ArffReader::mark_class() {
  data_.multiclass = true;
  const std::string& wanted = *options_.class_name;
  if (!options_.class_unclear.empty() && !ends_in_class(attributes_))
    throw Error(ErrorKind::usage, options_.class_unclear, {.file = file_->path()});
  std::vector<std::string> known;
  for (const ArffAttribute& attribute : attributes_) known.push_back(attribute.name);
  const auto at = wanted.empty() ? known.end() - 1 : std::find(known.begin(), known.end(), wanted);
  if (at == known.end())
    file_->fail_file(
        fmt::format("no attribute has the name of the class, '{}'; {}", wanted, suggestion(wanted, known)));
  roles_[static_cast<std::size_t>(at - known.begin())].kind = Role::Kind::category;
}

/// Multiclass data: what a nominal attribute's texts stand for. The first value is what the others are compared with,
/// so that sparse rows, which leave it out, need no entry for it.
void ArffReader::set_levels(std::size_t j) {
  Role& role = roles_[j];
  const std::vector<std::string>& texts = attributes_[j].levels;
  const bool category = role.kind == Role::Kind::category;
  if (!category && attributes_[j].values.empty() && !texts.empty()) role.kind = Role::Kind::levels;
  if (role.kind == Role::Kind::number) {
    role.index = data_.features++;
    return;
  }
  for (std::size_t level = 0; level < texts.size(); ++level) {
    if (!role.levels.emplace(texts[level], static_cast<int>(level)).second)
      file_->fail_file(fmt::format("attribute '{}' declares '{}' twice", attributes_[j].name, texts[level]));
  }
  if (category) {
    data_.labels = static_cast<int>(texts.size());
    data_.label_names = texts;
    return;
  }
  role.index = data_.features;
  data_.features += static_cast<std::int64_t>(texts.size()) - 1;
}

void ArffReader::set_class(std::size_t j, double value) {
  if (attributes_[j].levels.empty()) {
    class_names_.append(fmt::format("{}", value), data_);
  } else {
    data_.category.push_back(static_cast<std::int32_t>(value));
  }
}

void ArffReader::mark_last_labels() {
  const auto labels = static_cast<std::size_t>(options_.labels);
  if (labels > attributes_.size())
    file_->fail_file(
        fmt::format("declares {}, so the last {} cannot be labels", count_of(attributes_.size(), "attribute"), labels));
  for (std::size_t j = attributes_.size() - labels; j < attributes_.size(); ++j) roles_[j].kind = Role::Kind::label;
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
    roles_[static_cast<std::size_t>(at - known.begin())].kind = Role::Kind::label;
  }
}

void ArffReader::check_attributes(const std::vector<ArffAttribute>& others) const {
  if (others.size() != attributes_.size())
    file_->fail_file(fmt::format("declares {}, but {} declares {}", count_of(others.size(), "attribute"), first_path_,
                                 attributes_.size()));
  for (std::size_t j = 0; j < others.size(); ++j) {
    if (others[j].name != attributes_[j].name)
      file_->fail_file(fmt::format("attribute {} is '{}', but in {} it is '{}'", j + 1, others[j].name, first_path_,
                                   attributes_[j].name));
    if (others[j].values != attributes_[j].values || others[j].levels.size() != attributes_[j].levels.size() ||
        (attributes_[j].values.empty() && others[j].levels != attributes_[j].levels))
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
    if (values.empty() || values.front() == 0 || roles_[j].kind == Role::Kind::category) continue;
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
  if (!data_.multiclass) data_.label.resize(data_.label.size() + static_cast<std::size_t>(data_.labels));
  const char* end = line.data() + line.size();
  sparse ? read_sparse(line.data() + 1, end) : read_dense(line.data(), end);
  ++data_.rows;
}

void ArffReader::read_dense(const char* at, const char* end) {
  const std::size_t before = data_.context.size();
  data_.context.resize(before + static_cast<std::size_t>(data_.features));
  double* const features = data_.context.data() + before;
  const std::size_t count = attributes_.size();
  for (std::size_t j = 0; j < count; ++j) {
    double value = 0;
    at = read_value(at, end, j, value);
    const Role& role = roles_[j];
    if (role.kind == Role::Kind::number) {
      features[role.index] = value;
    } else if (role.kind == Role::Kind::label) {
      set_label(role.index, value);
    } else if (role.kind == Role::Kind::category) {
      set_class(j, value);
    } else if (value > 0) {
      features[role.index + static_cast<std::int64_t>(value) - 1] = 1;
    }
    if (j + 1 == count) break;
    if (at == end || *at == '%')
      file_->fail(fmt::format("this row has {} of the {} declared", count_of(j + 1, "value"), count));
    if (*at != ',') fail(j, fmt::format("is followed by '{}' where a comma should be", excerpt({at, end})));
    ++at;
  }
  if (at != end && *at != '%')
    file_->fail(fmt::format("this row goes on behind the last of its {} values: '{}'", count, excerpt({at, end})));
}

void ArffReader::read_sparse(const char* at, const char* end) {
  row_.clear();
  given_.clear();
  double category = 0;  // what a sparse row leaves out: the first class, or the number 0
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
    const Role& role = roles_[j];
    if (role.kind == Role::Kind::number) {
      row_.add(role.index, value);
    } else if (role.kind == Role::Kind::label) {
      set_label(role.index, value);
    } else if (role.kind == Role::Kind::category) {
      category = value;
    } else if (value > 0) {
      row_.add(role.index + static_cast<std::int64_t>(value) - 1, 1);
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
  for (std::size_t j = 0; data_.multiclass && j < roles_.size(); ++j) {
    if (roles_[j].kind == Role::Kind::category) set_class(j, category);
  }
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
  if (!roles_[j].levels.empty()) return read_level(at, end, j, value);
  const char* const behind = std::find_if(at, end, ends_value);
  const std::optional<double> plain = parse_double({at, static_cast<std::size_t>(behind - at)});
  if (plain) value = *plain;
  at = plain ? behind : read_value_slowly(at, end, j, value);
  check_value(j, value);
  while (at != end && is_blank(*at)) ++at;
  return at;
}

const char* ArffReader::read_value_slowly(const char* at, const char* end, std::size_t j, double& value) const {
  std::string text;
  at = read_text(at, end, j, text);
  const std::optional<double> number = parse_double(text);
  if (!number) fail(j, fmt::format("is '{}', which is not a number", excerpt(text)));
  value = *number;
  return at;
}

const char* ArffReader::read_text(const char* at, const char* end, std::size_t j, std::string& text) const {
  std::string_view rest(at, static_cast<std::size_t>(end - at));
  if (!take_word(rest, ",}%", text)) fail(j, fmt::format("has a quote that is not closed: {}", excerpt(rest)));
  if (text == "?" && *at == '?') fail(j, "is missing ('?'); fill it in or remove the row");
  if (text.empty()) fail(j, "has no value");
  return rest.data();
}

const char* ArffReader::read_level(const char* at, const char* end, std::size_t j, double& value) const {
  std::string text;
  at = read_text(at, end, j, text);
  const ArffAttribute& attribute = attributes_[j];
  const auto found = roles_[j].levels.find(text);
  if (found != roles_[j].levels.end()) {
    value = found->second;
  } else {
    // "1.0" where 1 was declared.
    const std::optional<double> number = parse_double(text);
    const auto same =
        number ? std::find(attribute.values.begin(), attribute.values.end(), *number) : attribute.values.end();
    if (same == attribute.values.end())
      fail(j, fmt::format("is '{}', which is not among the values it was declared with", excerpt(text)));
    value = static_cast<double>(same - attribute.values.begin());
  }
  while (at != end && is_blank(*at)) ++at;
  return at;
}

void ArffReader::check_value(std::size_t j, double value) const {
  if (!std::isfinite(value)) fail(j, fmt::format("is {}, which is not finite", value));
  if (roles_[j].kind == Role::Kind::label && value != 0 && value != 1)
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
  const int ways = (options.labels != 0) + !options.label_names.empty() + options.class_name.has_value();
  if (options.labels < 0 || ways != 1)
    throw Error(ErrorKind::usage, "say which attributes are labels: how many at the end, or their names, or the class",
                {.file = paths.front()});
  ArffReader reader(options);
  for (const std::string& path : paths) reader.read(path);
  LabelledData data = reader.take();
  data.name = common_name(paths);
  return data;
}

}  // namespace scrm
