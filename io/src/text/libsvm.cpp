#include "scrm/io/labelled/libsvm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"
#include "text/class_names.hpp"
#include "text/sparse_row.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

// Larger numbers are no labels but targets of a regression or identifiers; a table of bits for them would fill memory.
constexpr std::int64_t kMaxLabels = std::int64_t{1} << 16;
// Indices are 32 bits wide, whether they count from 0 or from 1.
constexpr std::int64_t kMaxFeatures = std::numeric_limits<std::int32_t>::max() - 1;

/// A number of the file with the place where it first stood, for messages.
struct FirstOccurrence {
  std::int64_t number;
  std::string file = {};
  std::int64_t line = 0;
};

/// Gathers rows with the numbers of the file; what they count from is known at the end only.
class LibsvmReader {
 public:
  explicit LibsvmReader(const LibsvmOptions& options) : options_(options) { data_.indptr.push_back(0); }

  void read(const std::string& path) {
    TextFile file(path, options_.max_bytes);
    file_ = &file;
    while (file.next()) read_line();
  }

  /// Numbers labels and features from 0 and fills the table of labels.
  LabelledData finish(LibsvmNumbering& numbering);

 private:
  void read_line();
  void read_labels(std::string_view token);
  void read_class(std::string_view token);
  void read_entry(std::string_view token);
  std::int64_t read_number(std::string_view text, std::string_view token, std::int64_t most, const char* what) const;
  void update_extremes(std::int64_t number, FirstOccurrence& smallest, FirstOccurrence& largest) const;
  int first_label() const;
  void number_features(int first);
  void number_labels(int first);
  [[noreturn]] static void fail(const FirstOccurrence& occurrence, const std::string& what) {
    throw Error(ErrorKind::data, fmt::format("line {}: {}", occurrence.line, what), {.file = occurrence.file});
  }

  const LibsvmOptions& options_;
  const TextFile* file_ = nullptr;
  SparseRow row_;
  std::vector<std::int32_t> labels_;      // of all rows, as the file numbers them
  std::vector<std::int64_t> label_ends_;  // where the labels of each row end
  FirstOccurrence smallest_label_{std::numeric_limits<std::int64_t>::max()};
  FirstOccurrence largest_label_{-1};
  FirstOccurrence smallest_feature_{std::numeric_limits<std::int64_t>::max()};
  FirstOccurrence largest_feature_{-1};
  ClassNames class_names_;
  LabelledData data_;
};

void LibsvmReader::update_extremes(std::int64_t number, FirstOccurrence& smallest, FirstOccurrence& largest) const {
  if (number < smallest.number) smallest = {number, file_->path(), file_->number()};
  if (number > largest.number) largest = {number, file_->path(), file_->number()};
}

void LibsvmReader::read_line() {
  std::string_view rest = file_->line();
  rest = rest.substr(0, rest.find('#'));
  if (trimmed(rest).empty()) return;
  row_.clear();
  for (bool first = true;; first = false) {
    while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    if (rest.empty()) break;
    const auto blank = std::find_if(rest.begin(), rest.end(), is_blank);
    const std::string_view token = rest.substr(0, static_cast<std::size_t>(blank - rest.begin()));
    rest.remove_prefix(token.size());
    const bool leading = first && token.find(':') == std::string_view::npos;
    if (first && !leading && options_.multiclass) file_->fail("this row does not begin with its class");
    if (leading && options_.multiclass) {
      read_class(token);
    } else if (leading) {
      read_labels(token);
    } else {
      read_entry(token);
    }
  }
  if (const auto twice = row_.append_to(data_)) file_->fail(fmt::format("feature {} is given twice", *twice));
  label_ends_.push_back(static_cast<std::int64_t>(labels_.size()));
  ++data_.rows;
}

void LibsvmReader::read_labels(std::string_view token) {
  std::string_view rest = token;
  for (;;) {
    const std::string_view text = rest.substr(0, rest.find(','));
    const std::int64_t label = read_number(text, token, kMaxLabels, "label");
    update_extremes(label, smallest_label_, largest_label_);
    labels_.push_back(static_cast<std::int32_t>(label));
    if (text.size() == rest.size()) return;
    rest.remove_prefix(text.size() + 1);
  }
}

void LibsvmReader::read_class(std::string_view token) {
  if (token.find(',') != std::string_view::npos)
    file_->fail(fmt::format("'{}' are several labels, but rows are said to have one class each", excerpt(token)));
  class_names_.append(token, data_);
}

void LibsvmReader::read_entry(std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos)
    file_->fail(fmt::format("'{}' is not a feature and its value, such as 12:0.5", excerpt(token)));
  const std::int64_t feature = read_number(token.substr(0, colon), token, kMaxFeatures, "feature");
  update_extremes(feature, smallest_feature_, largest_feature_);
  const std::optional<double> value = parse_double(token.substr(colon + 1));
  if (!value) file_->fail(fmt::format("the value in '{}' is not a number", excerpt(token)));
  if (!std::isfinite(*value)) file_->fail(fmt::format("the value in '{}' is not finite", excerpt(token)));
  row_.add(feature, *value);
}

std::int64_t LibsvmReader::read_number(std::string_view text, std::string_view token, std::int64_t most,
                                       const char* what) const {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0)
    file_->fail(
        fmt::format("'{}' in '{}' is not a {}: these are numbered from 0 or 1", excerpt(text), excerpt(token), what));
  if (*number > most)
    file_->fail(fmt::format("{} {} is too large: {} is the most that can be", what, excerpt(text), most));
  return *number;
}

int LibsvmReader::first_label() const {
  if (options_.first_label) return *options_.first_label;
  if (largest_label_.number < 0 || smallest_label_.number == 0) return 0;
  return options_.labels == 0 || largest_label_.number == options_.labels ? 1 : 0;
}

void LibsvmReader::number_features(int first) {
  if (largest_feature_.number >= 0 && smallest_feature_.number < first)
    fail(smallest_feature_,
         fmt::format("feature {} occurs, but the first feature is said to be {}", smallest_feature_.number, first));
  const std::int64_t needed = largest_feature_.number < 0 ? 0 : largest_feature_.number - first + 1;
  data_.features = options_.features > 0 ? options_.features : needed;
  if (needed > data_.features)
    fail(largest_feature_, fmt::format("feature {} is beyond the {} asked for (counted from {})",
                                       largest_feature_.number, data_.features, first));
  if (first == 0) return;
  for (std::int32_t& index : data_.indices) index -= first;
}

void LibsvmReader::number_labels(int first) {
  if (largest_label_.number >= 0 && smallest_label_.number < first)
    fail(smallest_label_,
         fmt::format("label {} occurs, but the first label is said to be {}", smallest_label_.number, first));
  const std::int64_t needed = largest_label_.number < 0 ? 0 : largest_label_.number - first + 1;
  data_.labels = options_.labels > 0 ? options_.labels : static_cast<int>(needed);
  if (needed > data_.labels)
    fail(largest_label_, fmt::format("label {} is beyond the {} asked for (counted from {})", largest_label_.number,
                                     data_.labels, first));
  const auto labels = static_cast<std::size_t>(data_.labels);
  data_.label.assign(static_cast<std::size_t>(data_.rows) * labels, 0);
  std::size_t at = 0;
  for (std::size_t row = 0; row < label_ends_.size(); ++row) {
    for (; at < static_cast<std::size_t>(label_ends_[row]); ++at)
      data_.label[row * labels + static_cast<std::size_t>(labels_[at] - first)] = 1;
  }
}

LabelledData LibsvmReader::finish(LibsvmNumbering& numbering) {
  numbering.first_label = first_label();
  numbering.first_feature = options_.first_feature.value_or(smallest_feature_.number == 0 ? 0 : 1);
  data_.sparse = true;
  number_features(numbering.first_feature);
  if (options_.multiclass) {
    class_names_.finish(data_);
  } else {
    number_labels(numbering.first_label);
  }
  return std::move(data_);
}

}  // namespace

LabelledData read_libsvm(const std::string& path, const LibsvmOptions& options, LibsvmNumbering* numbering) {
  return read_libsvm(std::vector<std::string>{path}, options, numbering);
}

LabelledData read_libsvm(const std::vector<std::string>& paths, const LibsvmOptions& options,
                         LibsvmNumbering* numbering) {
  if (paths.empty()) throw Error(ErrorKind::usage, "there is no LIBSVM file to read");
  const auto fail_usage = [&](const std::string& what) {
    throw Error(ErrorKind::usage, what, {.file = paths.front()});
  };
  if (options.labels < 0 || options.labels > kMaxLabels)
    fail_usage(fmt::format("{} labels: there can be 1 to {}", options.labels, kMaxLabels));
  if (options.features < 0 || options.features > kMaxFeatures)
    fail_usage(fmt::format("{} features: there can be 1 to {}", options.features, kMaxFeatures));
  if (options.multiclass && (options.labels > 0 || options.first_label))
    fail_usage("classes are those that occur: neither how many there are nor the first one's number can be given");
  for (const auto& first : {options.first_label, options.first_feature})
    if (first && *first != 0 && *first != 1) fail_usage("labels and features count from 0 or from 1");
  LibsvmReader reader(options);
  for (const std::string& path : paths) reader.read(path);
  LibsvmNumbering understood;
  LabelledData data = reader.finish(understood);
  if (data.labels == 0 && options.multiclass) throw Error(ErrorKind::data, "has no rows", {.file = paths.front()});
  if (data.labels == 0)
    throw Error(ErrorKind::data, "no row has a label; if that is right, say how many labels there are",
                {.file = paths.front()});
  if (numbering != nullptr) *numbering = understood;
  data.name = common_name(paths);
  return data;
}

}  // namespace scrm
