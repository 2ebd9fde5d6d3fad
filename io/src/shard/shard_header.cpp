#include "shard/shard_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "array/tile.hpp"
#include "scrm/io/file/spelling.hpp"
#include "shard/attribute_names.hpp"

namespace scrm {
namespace {

[[noreturn]] void fail(const Hdf5File& file, const std::string& dataset, const std::string& message) {
  throw Error(ErrorKind::data, message, {.file = *file.path(), .dataset = dataset});
}

std::vector<double> first_numbers(const Hdf5File& file, const std::string& dataset, std::int64_t rows) {
  const std::shared_ptr<const ArrayFacts> facts = file.array(dataset);
  const std::string bytes = file.read_rows(*facts, 0, rows);
  std::vector<double> out;
  for_each_value({facts->element, reinterpret_cast<const std::byte*>(bytes.data()), facts->row_bytes(),
                  static_cast<int>(rows), facts->width},
                 [&out](int, std::int64_t, double value) { out.push_back(value); });
  return out;
}

/// Of a file with both datasets log_propensity is read: the other may not say something else, as far as a look at the
/// first rows shows.
void require_one_propensity(const Hdf5File& file, std::int64_t rows) {
  constexpr std::int64_t kLook = 1000;
  constexpr double kRounding = 0.01;
  rows = std::min(rows, kLook);
  if (rows == 0) return;
  const std::vector<double> linear = first_numbers(file, "propensity", rows);
  const std::vector<double> logarithm = first_numbers(file, "log_propensity", rows);
  for (std::size_t i = 0; i < linear.size(); ++i) {
    if (std::abs(std::exp(logarithm[i]) - linear[i]) <= kRounding * std::abs(linear[i])) continue;
    if (!std::isfinite(linear[i]) || !std::isfinite(logarithm[i])) continue;  // the audit names them
    throw Error(ErrorKind::data,
                fmt::format("{} is the logarithm of {}, but propensity is {}: leave one of the two datasets out",
                            logarithm[i], std::exp(logarithm[i]), linear[i]),
                {.file = *file.path(), .dataset = "log_propensity", .row = static_cast<std::int64_t>(i)});
  }
}

class HeaderReader {
 public:
  HeaderReader(const Hdf5File& file, const ReadOptions& options) : file_(file), options_(options) {}

  ShardHeader read() {
    read_attributes();
    if (options_.contexts_only) {
      count_contexts();
      read_context();
    } else {
      read_action_kind();
      read_loss();
      read_action();
      read_propensities();
      read_context();
      read_targets();
      read_models();
      read_cluster();
    }
    read_names();
    file_.require_disjoint_arrays();
    return std::move(header_);
  }

 private:
  void read_attributes();
  void read_outcome();
  void read_action_kind();
  void read_names();
  /// The number of rows where `loss` need not be there.
  void count_contexts();
  void read_loss();
  void read_action();
  void read_propensities();
  void read_context();
  void read_dense_context();
  void read_sparse_context();
  void read_targets();
  void read_models();
  void read_cluster();

  StoredArray open(const std::string& name) const;
  /// Opens, checks the length against `loss`, and adds to the cost.
  StoredArray open_column(const std::string& name);
  StoredArray open_list(const std::string& name);
  void add(const StoredArray& array, MemoryCost& cost);

  const Hdf5File& file_;
  const ReadOptions& options_;
  ShardHeader header_;
};

StoredArray HeaderReader::open(const std::string& name) const {
  switch (file_.object_type(name)) {
    case ObjectType::dataset:
      return StoredArray(file_, name);
    case ObjectType::none:
      fail(file_, name, "there is no such dataset");
    default:
      fail(file_, name, "is not a dataset");
  }
}

void HeaderReader::add(const StoredArray& array, MemoryCost& cost) {
  cost.add(array.memory_cost());
  header_.chunk_rows = std::max(header_.chunk_rows, array.chunk_rows());
}

StoredArray HeaderReader::open_column(const std::string& name) {
  StoredArray array = open(name);
  if (array.rows() != header_.rows) {
    fail(file_, name, fmt::format("has {}, but loss has {}", count_of(array.rows(), "row"), header_.rows));
  }
  add(array, header_.cost);
  return array;
}

StoredArray HeaderReader::open_list(const std::string& name) {
  StoredArray array = open_column(name);
  if (array.width() != 1) fail(file_, name, fmt::format("must have one column, it has {}", array.width()));
  return array;
}

void HeaderReader::read_attributes() {
  const auto format = file_.text_attribute("/", "format");
  if (!format) fail(file_, "", "has no attribute format; a shard has format = \"scrm-log\"");
  if (*format == "scrm-labelled") {
    fail(file_, "",
         "is a labelled data set, not logs: it has right answers but no actions, losses or propensities; `scrm sweep` "
         "turns it into logs and runs methods on it, `scrm inspect` shows it");
  }
  if (*format != "scrm-log") {
    fail(file_, "attribute format", fmt::format("is \"{}\", \"scrm-log\" is needed", *format));
  }
  const auto version = file_.integer_attribute("/", "format_version");
  if (!version) fail(file_, "", "has no attribute format_version; this program reads version 1");
  if (*version != 1) {
    fail(file_, "attribute format_version", fmt::format("is {}, this program reads version 1", *version));
  }
  const std::int64_t rollout = file_.integer_attribute("/", "rollout").value_or(0);
  if (rollout < std::numeric_limits<int>::min() || rollout > std::numeric_limits<int>::max()) {
    fail(file_, "attribute rollout", fmt::format("is {}, which is out of range", rollout));
  }
  header_.rollout = static_cast<int>(rollout);
  read_outcome();
}

void HeaderReader::read_outcome() {
  const auto outcome = file_.text_attribute("/", "outcome");
  if (!outcome) return;
  if (*outcome != "loss" && *outcome != "reward") {
    fail(file_, "attribute outcome", fmt::format("is \"{}\", it must be loss or reward", *outcome));
  }
  header_.outcome = *outcome == "reward" ? Outcome::reward : Outcome::loss;
  if (options_.reward && header_.outcome == Outcome::loss) {
    fail(file_, "attribute outcome", "is \"loss\", which --reward contradicts; leave --reward out");
  }
}

void HeaderReader::read_names() {
  header_.context_columns = attribute_names(file_, "context_columns", header_.features, "feature");
  if (!options_.contexts_only && header_.action_kind != ActionKind::continuous) {
    header_.action_names = attribute_names(file_, "action_names", header_.num_actions, "action");
  }
}

void HeaderReader::read_action_kind() {
  const auto kind = file_.text_attribute("/", "action_kind");
  if (!kind) fail(file_, "", "has no attribute action_kind; it is continuous, categorical or multilabel");
  bool known = false;
  for (const auto candidate : {ActionKind::continuous, ActionKind::categorical, ActionKind::multilabel}) {
    if (*kind != to_string(candidate)) continue;
    header_.action_kind = candidate;
    known = true;
  }
  if (!known) {
    fail(file_, "attribute action_kind",
         fmt::format("is \"{}\", it must be continuous, categorical or multilabel", *kind));
  }
  const auto actions = file_.integer_attribute("/", "num_actions");
  if (header_.action_kind == ActionKind::categorical && !actions) {
    fail(file_, "", "has no attribute num_actions, which categorical actions need");
  }
  if (header_.action_kind != ActionKind::continuous && actions) {
    if (*actions < 1 || *actions > std::numeric_limits<int>::max()) {
      fail(file_, "attribute num_actions",
           fmt::format("is {}, it must lie between 1 and {}", *actions, std::numeric_limits<int>::max()));
    }
    header_.num_actions = static_cast<int>(*actions);
  }
}

void HeaderReader::count_contexts() {
  switch (file_.object_type("context")) {
    case ObjectType::group:
      header_.rows = open("context/indptr").rows() - 1;
      if (header_.rows < 0) fail(file_, "context/indptr", "is empty; it has one value more than there are rows");
      return;
    case ObjectType::none:
      for (const char* name : {"loss", "action"}) {
        if (file_.object_type(name) == ObjectType::none) continue;
        header_.rows = open(name).rows();
        return;
      }
      fail(file_, "context", "there is no such dataset, nor loss or action to say how many rows there are");
    default:
      header_.rows = open("context").rows();
  }
}

void HeaderReader::read_loss() {
  if (file_.object_type("loss") == ObjectType::none) {
    const bool acted = file_.object_type("action") != ObjectType::none;
    fail(file_, "loss",
         acted ? "there is no such dataset; these rows were acted but their losses are not recorded yet: add a "
                 "dataset loss with one number for each row, in the order of the rows (README, The loop)"
               : "there is no such dataset, nor action; if these are contexts, `scrm act` draws actions for them");
  }
  const StoredArray loss = open("loss");
  header_.rows = loss.rows();
  if (loss.width() != 1) fail(file_, "loss", fmt::format("must have one column, it has {}", loss.width()));
  add(loss, header_.cost);
}

void HeaderReader::read_action() {
  if (header_.action_kind != ActionKind::multilabel) {
    const StoredArray action = open_list("action");
    if (header_.action_kind == ActionKind::categorical && is_float(action.element())) {
      fail(file_, "action", "holds real numbers, categorical actions are integers");
    }
    return;
  }
  const StoredArray action = open_column("action");
  if (action.rank() != 2 || action.width() < 1) {
    fail(file_, "action", "must have two dimensions, rows and labels, for multilabel actions");
  }
  if (is_float(action.element())) fail(file_, "action", "holds real numbers, multilabel actions are 0 or 1 integers");
  if (action.width() > std::numeric_limits<int>::max()) fail(file_, "action", "has too many labels");
  const int labels = static_cast<int>(action.width());
  if (header_.num_actions != 0 && header_.num_actions != labels) {
    fail(file_, "action",
         fmt::format("has {}, but the attribute num_actions is {}", count_of(labels, "label"), header_.num_actions));
  }
  header_.num_actions = labels;
}

void HeaderReader::read_propensities() {
  header_.has_log_propensity = file_.object_type("log_propensity") != ObjectType::none;
  header_.has_propensity = file_.object_type("propensity") != ObjectType::none;
  if (header_.has_log_propensity) open_list("log_propensity");
  if (header_.has_propensity) open_list("propensity");
  if (header_.has_log_propensity && header_.has_propensity) require_one_propensity(file_, header_.rows);
  const bool multilabel = header_.action_kind == ActionKind::multilabel;
  header_.has_label_propensity = multilabel && file_.object_type("label_propensity") != ObjectType::none;
  if (header_.has_label_propensity) {
    const StoredArray labels = open_column("label_propensity");
    if (labels.rank() != 2 || labels.width() != header_.num_actions) {
      fail(file_, "label_propensity",
           fmt::format("has {}, but action has {}", count_of(labels.rank() == 2 ? labels.width() : 1, "column"),
                       header_.num_actions));
    }
  }
  if (!header_.has_log_propensity && !header_.has_propensity && !header_.has_label_propensity) {
    fail(file_, "propensity",
         fmt::format("there is no such dataset, nor log_propensity{}", multilabel ? " nor label_propensity" : ""));
  }
}

void HeaderReader::read_context() {
  switch (file_.object_type("context")) {
    case ObjectType::none:
      break;
    case ObjectType::group:
      read_sparse_context();
      break;
    default:
      read_dense_context();
  }
}

void HeaderReader::read_dense_context() {
  const StoredArray context = open_column("context");
  if (context.rank() != 2) fail(file_, "context", "must have two dimensions, rows and features");
  header_.features = context.width();
  header_.context_type = context.element() == Element::f32 ? FloatType::f32 : FloatType::f64;
}

void HeaderReader::read_sparse_context() {
  header_.sparse = true;
  const auto features = file_.integer_attribute("context", "num_features");
  if (!features) fail(file_, "context", "has no attribute num_features, which sparse contexts need");
  if (*features < 0 || *features > std::numeric_limits<std::int32_t>::max()) {
    fail(file_, "context attribute num_features", fmt::format("is {}, which is out of range", *features));
  }
  header_.features = *features;

  StoredArray indptr = open("context/indptr");
  const StoredArray indices = open("context/indices");
  const StoredArray values = open("context/values");
  for (const StoredArray* array : std::initializer_list<const StoredArray*>{&indptr, &indices, &values}) {
    if (array->width() != 1) {
      fail(file_, array->name(), fmt::format("must have one column, it has {}", array->width()));
    }
  }
  for (const StoredArray* array : std::initializer_list<const StoredArray*>{&indptr, &indices}) {
    if (is_float(array->element())) fail(file_, array->name(), "holds real numbers, integers are needed");
  }
  if (indptr.rows() != header_.rows + 1) {
    fail(file_, indptr.name(),
         fmt::format("has {}, but loss has {}, which needs {}", count_of(indptr.rows(), "value"),
                     count_of(header_.rows, "row"), header_.rows + 1));
  }
  if (indices.rows() != values.rows()) {
    fail(file_, indices.name(),
         fmt::format("has {} entries, but context/values has {}", indices.rows(), values.rows()));
  }
  header_.cost.per_row += sizeof(std::int64_t);
  header_.cost.total += static_cast<double>(header_.rows) * sizeof(std::int64_t);
  add(indices, header_.entry_cost);
  add(values, header_.entry_cost);
  // The entries of decoded blocks: index and value.
  header_.entry_cost.per_row += sizeof(std::int32_t) + sizeof(double);
  header_.entry_cost.total += static_cast<double>(indices.rows()) * (sizeof(std::int32_t) + sizeof(double));

  constexpr std::int64_t kAtOnce = std::int64_t{32} * kBlockRows;
  for (std::int64_t first = 0; first < header_.rows; first += kAtOnce) {
    const std::int64_t rows = std::min(kAtOnce, header_.rows - first);
    const auto offsets = indptr.read_offsets(file_, first, rows, indices.rows());
    for (std::int64_t row = 0; row < rows; row += kBlockRows) {
      header_.entries_before.push_back(offsets[static_cast<std::size_t>(row)]);
    }
    if (first + rows == header_.rows) header_.entries_before.push_back(offsets.back());
  }
}

void HeaderReader::read_targets() {
  if (file_.object_type("target") == ObjectType::group) header_.targets = file_.members("target");
  for (const std::string& name : options_.all_targets ? header_.targets : options_.targets) {
    if (std::find(header_.targets.begin(), header_.targets.end(), name) == header_.targets.end()) {
      fail(file_, "target/" + name,
           header_.targets.empty()
               ? "there is no such dataset, nor any other target"
               : fmt::format("there is no such dataset; there are {}", fmt::join(header_.targets, ", ")));
    }
    open_list("target/" + name);
  }
}

void HeaderReader::read_models() {
  if (options_.model.empty() && !options_.sole_model) return;
  std::vector<std::string> names;
  if (file_.object_type("model") == ObjectType::group) names = file_.members("model");
  if (!options_.model.empty() && std::find(names.begin(), names.end(), options_.model) == names.end()) {
    fail(file_, "model/" + options_.model,
         names.empty() ? "there is no such group, nor any other model; ridge and fourier are fitted to the rows, none "
                         "goes without a model"
                       : fmt::format("there is no such group; there are {}, and ridge, fourier and none",
                                     fmt::join(names, ", ")));
  }
  for (const std::string& name : names) {
    StoredModel& model = header_.models.emplace_back(StoredModel{name, {}});
    const std::string group = "model/" + name;
    if (file_.object_type(group + "/target") == ObjectType::group) model.targets = file_.members(group + "/target");
    const bool wanted = options_.sole_model ? names.size() == 1 : name == options_.model;
    if (!wanted) continue;
    open_list(group + "/logged");
    for (const std::string& target : options_.targets) {
      if (std::find(model.targets.begin(), model.targets.end(), target) != model.targets.end())
        open_list(group + "/target/" + target);
    }
  }
}

void HeaderReader::read_cluster() {
  header_.has_cluster = options_.cluster && file_.object_type("cluster") != ObjectType::none;
  if (!header_.has_cluster) return;
  if (is_float(open_list("cluster").element()))
    fail(file_, "cluster", "holds real numbers, clusters are integers: store them as int64");
}

}  // namespace

ShardHeader read_shard_header(const Hdf5File& file, const ReadOptions& options) {
  return HeaderReader(file, options).read();
}

}  // namespace scrm
