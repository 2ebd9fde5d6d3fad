#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "bindings.hpp"
#include "report/enum_names.hpp"
#include "run_task.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/experiments/acting_source.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

struct Nothing {};
constexpr auto kMergeNothing = [](Nothing&, const Nothing&) {};

ActionKind action_kind(const std::string& name) {
  return name == "multilabel" ? ActionKind::multilabel : ActionKind::categorical;
}

/// Throws for the first bad row, and counts all of them.
void require_clean(Source& rows, const TaskOptions& task) {
  const auto nothing = [](const Block&, Nothing&) {};
  require_no_bad_rows(run_pass(rows, Nothing{}, nothing, kMergeNothing, task.pass("checking")).second, false);
}

/// Contexts and a policy that fits them.
struct Acting {
  Acting(const Rows& data, const Policy& given, const std::string& policy_name, const std::string& kind,
         int num_actions)
      : contexts(data.open({.contexts_only = true})),
        name(policy_name),
        policy(match_names(given, contexts.schema(), name)),
        schema(acted_schema(policy, contexts.schema(), action_kind(kind), num_actions)) {
    if (!says_its_actions(policy) && schema.num_actions < 1)
      throw Error(ErrorKind::usage,
                  fmt::format("a {} policy does not say what it chooses among: give num_actions", policy.kind.name()),
                  {.file = name});
  }

  ShardSource contexts;
  std::string name;
  Policy policy;
  Schema schema;
};

template <class T>
py::array_t<T> numbers(std::int64_t rows, std::int64_t columns) {
  return columns == 0 ? py::array_t<T>(rows) : py::array_t<T>(std::vector<py::ssize_t>{rows, columns});
}

/// Columns of a block as rows of a table.
template <class T>
void store_rows(const Block& block, const T* columns, std::int64_t width, T* out) {
  out += block.first_row * width;
  for (int i = 0; i < block.rows; ++i) {
    for (std::int64_t k = 0; k < width; ++k) *out++ = columns[k * kBlockRows + i];
  }
}

/// Where the columns that acting adds go; null where a policy has no such column.
struct ActedColumns {
  double* number = nullptr;
  std::int32_t* category = nullptr;
  std::uint8_t* bits = nullptr;
  double* propensity = nullptr;
  double* label_propensity = nullptr;

  void store(const Block& block) const {
    const std::int64_t actions = block.num_actions;
    if (number != nullptr) store_rows(block, block.action, 1, number);
    if (category != nullptr) store_rows(block, block.category, 1, category);
    if (bits != nullptr) store_rows(block, block.bits, actions, bits);
    store_rows(block, block.propensity != nullptr ? block.propensity : block.log_propensity, 1, propensity);
    if (label_propensity != nullptr) store_rows(block, block.label_propensity, actions, label_propensity);
  }
};

py::dict act(const Policy& given, const std::string& name, const py::dict& rows, const py::dict& what,
             const py::dict& task) {
  TaskContext context = make_context(task);
  const Rows data(rows);
  Acting acting(data, given, name, what["action_kind"].cast<std::string>(), what["num_actions"].cast<int>());
  const RolloutKey key{what["seed"].cast<std::uint64_t>(), what["rollout"].cast<int>()};
  const Schema& schema = acting.schema;
  const std::int64_t count = acting.contexts.rows();
  ActedColumns columns;
  py::dict out;
  const auto column = [&](const char* what_it_is, auto*& place, std::int64_t width) {
    auto array = numbers<std::remove_reference_t<decltype(*place)>>(count, width);
    place = array.mutable_data();
    out[what_it_is] = array;
  };
  if (schema.action_kind == ActionKind::continuous) column("action", columns.number, 0);
  if (schema.action_kind == ActionKind::categorical) column("action", columns.category, 0);
  if (schema.action_kind == ActionKind::multilabel) column("action", columns.bits, schema.num_actions);
  column(schema.propensity == PropensityForm::linear ? "propensity" : "log_propensity", columns.propensity, 0);
  if (schema.label_propensity) column("label_propensity", columns.label_propensity, schema.num_actions);
  run_task(context, task["progress"], [&](TaskContext& own) {
    try {
      ActingSource source(acting.contexts, schema, acting.policy, name, key);
      const auto store = [&](const Block& block, Nothing&) { columns.store(block); };
      run_pass(source, Nothing{}, store, kMergeNothing, own.options.pass("acting"));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::data) require_clean(acting.contexts, own.options);
      throw;
    }
  });
  out["action_kind"] = to_string(schema.action_kind);
  return out;
}

/// π(k|x) of all actions of a block, as rows of the table.
void store_probabilities(const TargetPolicy& target, const Block& block, double* out) {
  const auto actions = static_cast<std::size_t>(block.num_actions);
  AlignedArray<double> tile = make_aligned<double>(actions * kScoreTileRows);
  for (int first = 0; first < block.rows; first += kScoreTileRows) {
    const int rows = score_tile_rows(first, block.rows), valid = std::min(rows, block.rows - first);
    target.action_probabilities(block, first, rows, tile.get());
    double* row = out + (static_cast<std::size_t>(block.first_row) + static_cast<std::size_t>(first)) * actions;
    for (int i = 0; i < valid; ++i) {
      for (std::size_t k = 0; k < actions; ++k) *row++ = tile.get()[k * kScoreTileRows + static_cast<std::size_t>(i)];
    }
  }
}

py::array_t<double> probabilities(const Policy& given, const std::string& name, const py::dict& rows,
                                  const py::dict& what, const py::dict& task) {
  TaskContext context = make_context(task);
  const Rows data(rows);
  Acting acting(data, given, name, what["action_kind"].cast<std::string>(), what["num_actions"].cast<int>());
  const Schema& schema = acting.schema;
  if (schema.action_kind == ActionKind::continuous)
    throw Error(ErrorKind::usage,
                fmt::format("a {} policy has a density, not probabilities: density(context, action)",
                            acting.policy.kind.name()),
                {.file = name});
  auto out = numbers<double>(acting.contexts.rows(), schema.num_actions);
  double* const table = out.mutable_data();
  run_task(context, task["progress"], [&](TaskContext& own) {
    const std::unique_ptr<TargetPolicy> target = make_target_policy(acting.policy, schema, name);
    const std::vector<std::uint8_t> ones(static_cast<std::size_t>(schema.num_actions) * kBlockRows, 1);
    const auto compute = [&](const Block& contexts, Nothing&) {
      Block block = contexts;
      block.action_kind = schema.action_kind;
      block.num_actions = schema.num_actions;
      if (schema.action_kind == ActionKind::categorical) return store_probabilities(*target, block, table);
      block.bits = ones.data();
      PolicyScratch scratch;
      AlignedArray<double> columns = make_aligned<double>(static_cast<std::size_t>(schema.num_actions) * kBlockRows);
      target->label_probability(block, scratch, columns.get());
      store_rows(block, columns.get(), schema.num_actions, table);
    };
    const Audit audit = run_pass(acting.contexts, Nothing{}, compute, kMergeNothing, own.options.pass("acting")).second;
    require_no_bad_rows(audit, false);
  });
  return out;
}

/// Rows with actions, as if they were logged.
py::array_t<double> density(const Policy& policy, const std::string& name, const py::dict& rows, const py::dict& task) {
  TaskContext context = make_context(task);
  const Rows data(rows);
  ShardSource source(data.open({}));
  auto out = numbers<double>(source.rows(), 0);
  double* const list = out.mutable_data();
  run_task(context, task["progress"], [&](TaskContext& own) {
    const std::unique_ptr<TargetPolicy> target = make_target_policy(policy, source.schema(), name);
    const auto compute = [&](const Block& block, Nothing&) {
      PolicyScratch scratch;
      AlignedArray<double> column = make_aligned<double>(kBlockRows);
      target->density(block, scratch, column.get());
      store_rows(block, column.get(), 1, list);
    };
    require_no_bad_rows(run_pass(source, Nothing{}, compute, kMergeNothing, own.options.pass("acting")).second, false);
  });
  return out;
}

/// What a policy file says of them, checked as the file's reader does.
FourierFeatures fourier_features(const py::dict& given, std::int64_t row_length) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
  FourierFeatures map;
  map.width = given["width"].cast<std::int64_t>();
  map.bandwidth = given["bandwidth"].cast<double>();
  map.seed = given["feature_seed"].cast<std::uint64_t>();
  map.centre = given["centre"].cast<std::vector<double>>();
  map.spread = given["spread"].cast<std::vector<double>>();
  const std::int64_t inputs = row_length - 1 - map.width;
  if (map.width < 1 || inputs < 1)
    fail(fmt::format("theta has {} numbers a row; fourier features of width {} need 1 + d + {} for d features",
                     row_length, map.width, map.width));
  if (!(map.bandwidth > 0) || !std::isfinite(map.bandwidth)) fail("bandwidth must be above 0");
  for (const std::vector<double>* list : {&map.centre, &map.spread}) {
    if (!list->empty() && static_cast<std::int64_t>(list->size()) != inputs)
      fail(fmt::format("centre and spread have {} and {} numbers, but theta has room for {} features",
                       map.centre.size(), map.spread.size(), inputs));
    if (!std::all_of(list->begin(), list->end(), [](double x) { return std::isfinite(x); }))
      fail("centre or spread has a number that is not finite");
  }
  if (!std::all_of(map.spread.begin(), map.spread.end(), [](double x) { return x > 0; }))
    fail("spread must be above 0");
  return map;
}

Policy make_policy(const std::string& kind_name, const py::array_t<double, py::array::c_style>& theta, double scale,
                   double epsilon, const std::string& features, const std::string& mixing,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& actions,
                   const py::dict& fourier) {
  const PolicyKindDefinition& kind = policy_kind(PolicyKind(kind_name));
  const auto fail = [&](const std::string& what) { throw Error(ErrorKind::usage, what); };
  Policy policy;
  policy.kind = kind.format.kind;  // whose name lives as long as the registry
  policy.features = feature_map(features);
  if (mixing != "joint" && mixing != "label") fail("mixing must be joint or label");
  policy.mixing = mixing == "label" ? Mixing::label : Mixing::joint;
  if (!(scale > 0) || !std::isfinite(scale)) fail("scale must be above 0");
  if (!(epsilon >= 0 && epsilon <= 1)) fail("epsilon must lie between 0 and 1");
  policy.scale = scale;
  policy.epsilon = epsilon;
  const int rank = kind.format.theta == ThetaRows::per_action ? 2 : 1;
  policy.outputs = kind.format.theta == ThetaRows::none ? 0 : 1;
  if (kind.format.theta != ThetaRows::none && (theta.ndim() != rank || theta.size() == 0))
    fail(fmt::format("theta of a {} policy has {}", kind_name,
                     rank == 2 ? "a row for each action, intercept first" : "one row, intercept first"));
  if (kind.format.theta == ThetaRows::none && theta.size() > 0)
    fail(fmt::format("a {} policy has no theta", kind_name));
  if (rank == 2 && kind.format.theta != ThetaRows::none) policy.outputs = static_cast<int>(theta.shape(0));
  policy.theta.assign(theta.data(), theta.data() + theta.size());
  if (!std::all_of(policy.theta.begin(), policy.theta.end(), [](double t) { return std::isfinite(t); }))
    fail("theta has a number that is not finite");
  policy.inputs = inputs;
  policy.actions = actions;
  if (policy.features == FeatureMap::fourier) policy.fourier = fourier_features(fourier, policy.row_length());
  return policy;
}

py::object fourier_of(const Policy& policy) {
  if (policy.features != FeatureMap::fourier) return py::none();
  const FourierFeatures& map = policy.fourier;
  return py::dict(py::arg("width") = map.width, py::arg("bandwidth") = map.bandwidth,
                  py::arg("feature_seed") = map.seed, py::arg("centre") = map.centre, py::arg("spread") = map.spread);
}

py::array_t<double> theta_of(const Policy& policy) {
  const bool table = policy_kind(policy.kind).format.theta == ThetaRows::per_action;
  auto out = table ? numbers<double>(policy.outputs, policy.row_length())
                   : numbers<double>(static_cast<std::int64_t>(policy.theta.size()), 0);
  std::copy(policy.theta.begin(), policy.theta.end(), out.mutable_data());
  return out;
}

py::object training_of(const Policy& policy) {
  if (!policy.training) return py::none();
  const Training& training = *policy.training;
  return py::dict(py::arg("rows") = training.rows, py::arg("holdout") = training.holdout,
                  py::arg("seed") = training.seed, py::arg("by_cluster") = training.by_cluster);
}

void save_policy(const Policy& policy, const std::string& path, const std::string& comment, bool overwrite) {
  require_replaceable(path, overwrite);
  write_policy(path, policy, comment);
}

}  // namespace

FeatureMap feature_map(const std::string& name) {
  if (name == "linear") return FeatureMap::linear;
  if (name == "quadratic") return FeatureMap::quadratic;
  if (name == "fourier") return FeatureMap::fourier;
  throw Error(ErrorKind::usage, fmt::format("features is '{}', but must be linear, quadratic or fourier", name));
}

std::vector<PolicyFile> policy_files(const py::list& policies) {
  std::vector<PolicyFile> files;
  for (const py::handle item : policies) {
    const auto [name, policy] = item.cast<std::pair<std::string, Policy>>();
    files.push_back({name, policy});
  }
  return files;
}

void bind_policy(py::module_& module) {
  py::class_<Policy>(module, "Policy")
      .def(py::init(&make_policy))
      .def_property_readonly("kind", [](const Policy& policy) { return std::string(policy.kind.name()); })
      .def_property_readonly("features",
                             [](const Policy& p) {
                               return p.features == FeatureMap::linear      ? "linear"
                                      : p.features == FeatureMap::quadratic ? "quadratic"
                                                                            : "fourier";
                             })
      .def_property_readonly("fourier", fourier_of)
      .def_property_readonly("mixing", [](const Policy& p) { return name_of(kMixingNames, p.mixing); })
      .def_readonly("scale", &Policy::scale)
      .def_readonly("epsilon", &Policy::epsilon)
      .def_property_readonly("theta", theta_of)
      .def_readonly("inputs", &Policy::inputs)
      .def_readonly("actions", &Policy::actions)
      .def_property_readonly("training", training_of)
      .def("text", [](const Policy& policy, const std::string& comment) { return policy_text(policy, comment); });
  module.def("read_policy", [](const std::string& path) { return read_policy(path); });
  module.def("save_policy", save_policy);
  module.def("act", act);
  module.def("probabilities", probabilities);
  module.def("density", density);
  module.def("policy_kinds", [] {
    std::vector<std::string> names;
    for (const PolicyKindDefinition& kind : policy_kinds()) names.emplace_back(kind.format.kind.name());
    return names;
  });
}

}  // namespace scrm::python
