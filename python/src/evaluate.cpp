#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "callable_policy.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/evaluation_text.hpp"
#include "run_task.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "task/evaluation_task.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

IntervalKind interval_kind(const std::string& name) {
  std::vector<std::string> known;
  for (const IntervalDefinition& interval : all_intervals()) {
    if (name == interval.name) return interval.kind;
    known.emplace_back(interval.name);
  }
  throw Error(ErrorKind::usage, fmt::format("interval is '{}'; there are {}", name, fmt::join(known, ", ")));
}

Tuning tuning_rule(const std::string& name) {
  if (name == "mse") return Tuning::mse;
  if (name == "slope") return Tuning::slope;
  throw Error(ErrorKind::usage, fmt::format("tuning is '{}', but must be mse or slope", name));
}

EvaluateOptions evaluate_options(const py::dict& given) {
  EvaluateOptions options;
  options.estimators = given["estimators"].cast<std::vector<std::string>>();
  options.clip = optional_of<double>(given, "clip");
  options.alpha = optional_of<double>(given, "alpha");
  options.tuning = tuning_rule(given["tuning"].cast<std::string>());
  options.interval = interval_kind(given["interval"].cast<std::string>());
  options.level = given["level"].cast<double>();
  if (const auto range = optional_of<std::pair<double, double>>(given, "outcome_range")) {
    if (!(range->first < range->second))
      throw Error(ErrorKind::usage, "outcome_range must be (low, high), the lower number first");
    options.outcome_range = OutcomeRange{range->first, range->second};
  }
  options.max_weight = optional_of<double>(given, "max_weight");
  options.seed = given["seed"].cast<std::uint64_t>();
  options.replicates = given["replicates"].cast<int>();
  options.skip_bad_rows = given["skip_bad_rows"].cast<bool>();
  options.baseline = given["baseline"].cast<std::string>();
  options.simultaneous = given["simultaneous"].cast<bool>();
  options.loss_threshold = optional_of<double>(given, "at_least");
  return options;
}

py::dict evaluate_rows(const py::dict& rows, const py::dict& what, const py::dict& options, const py::dict& task) {
  const Stopwatch watch;
  TaskContext context = make_context(task);
  const Rows data(rows);
  EvaluationRequest request;
  request.policies = policy_files(what["policies"].cast<py::list>());
  for (const py::handle item : what["functions"].cast<py::list>()) {
    const auto [name, function] = item.cast<std::pair<std::string, py::object>>();
    request.functions.push_back({name, make_callable_policy(function, name, context)});
  }
  request.targets = what["targets"].cast<std::vector<std::string>>();
  request.target_names = what["target_names"].cast<std::vector<std::string>>();
  request.logging_policies = policy_files(what["logging_policies"].cast<py::list>());
  const std::vector<PolicyFile> holdout_of = policy_files(what["holdout_of"].cast<py::list>());
  if (!holdout_of.empty()) request.holdout_of = holdout_of.front();
  request.model = what["model"].cast<std::string>();
  request.weight_histogram = what["weight_histogram"].cast<bool>();
  request.options = evaluate_options(options);
  std::string json, text;
  run_task(context, task["progress"], [&](TaskContext& own) {
    const Evaluated result =
        evaluate_dataset(request, data.open(read_for_evaluation(request, data.reward)), own.options);
    const EvaluationContext shown{result.outcome, watch.seconds(), own.options.threads, result.warnings};
    json = json_text(evaluation_json(result.report, result.options, shown, result.histograms));
    text = evaluation_text(result.report, result.options, shown);
  });
  return py::dict(py::arg("json") = json, py::arg("text") = text, py::arg("warnings") = context.warnings);
}

/// Checks the arrays against each other, and says what they are.
py::dict describe_rows(const py::dict& rows) {
  const Rows data(rows);
  std::optional<Dataset> dataset;
  {
    const py::gil_scoped_release released;
    dataset.emplace(data.open({.all_targets = true, .cluster = true}));
  }
  const Schema& schema = dataset->schema();
  return py::dict(py::arg("rows") = dataset->rows(), py::arg("features") = schema.features,
                  py::arg("action_kind") = to_string(schema.action_kind), py::arg("num_actions") = schema.num_actions,
                  py::arg("outcome") = to_string(schema.outcome.value_or(Outcome::loss)),
                  py::arg("targets") = schema.targets, py::arg("context_columns") = schema.context_columns,
                  py::arg("action_names") = schema.action_names, py::arg("rollouts") = dataset->rollouts(),
                  py::arg("sparse") = schema.sparse,
                  py::arg("context_type") = schema.context_type == FloatType::f32 ? "float32" : "float64");
}

py::list estimator_facts() {
  py::list out;
  for (const std::string& name : estimator_names()) {
    const Estimator& estimator = find_estimator(name);
    out.append(py::dict(py::arg("name") = name, py::arg("formula") = estimator.formula,
                        py::arg("learnable") = estimator.learning.has_value()));
  }
  return out;
}

}  // namespace

void bind_evaluate(py::module_& module) {
  module.def("evaluate", evaluate_rows);
  module.def("describe", describe_rows);
  module.def("estimators", estimator_facts);
  module.def("intervals", [] {
    py::dict out;
    for (const IntervalDefinition& interval : all_intervals()) out[interval.name] = interval.holds;
    return out;
  });
}

}  // namespace scrm::python
