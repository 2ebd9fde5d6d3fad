#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "report/enum_names.hpp"
#include "report/terminal.hpp"
#include "run_task.hpp"
#include "scrm/io/file/error.hpp"
#include "task/learning/learning_task.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

template <class Value, std::size_t count>
Value named(const EnumNames<Value, count>& names, const py::dict& given, const char* key) {
  const auto name = given[key].cast<std::string>();
  for (const EnumName<Value>& entry : names) {
    if (name == entry.name) return entry.value;
  }
  throw Error(ErrorKind::usage,
              fmt::format("{} is '{}', but must be {} or {}", key, name, names[0].name, names[1].name));
}

LearningRequest learning_request(const py::dict& given) {
  LearningRequest request;
  request.kind = given["kind"].cast<std::string>();
  request.features = feature_map(given["features"].cast<std::string>());
  request.fourier.width = given["width"].cast<std::int64_t>();
  request.fourier.bandwidth = optional_of<double>(given, "bandwidth").value_or(0);
  request.fourier.seed = given["feature_seed"].cast<std::uint64_t>();
  if (!given["mixing"].is_none()) request.mixing = named(kMixingNames, given, "mixing");
  request.scale = optional_of<double>(given, "scale");
  request.epsilon = optional_of<double>(given, "epsilon");
  const std::vector<PolicyFile> start = policy_files(given["start"].cast<py::list>());
  if (!start.empty()) request.start = start.front();
  request.estimator = given["estimator"].cast<std::string>();
  request.holdout = given["holdout"].cast<double>();
  request.logging_policies = policy_files(given["logging_policies"].cast<py::list>());
  LearnOptions& options = request.options;
  options.rules.penalty = named(kPenaltyNames, given, "penalty");
  const std::optional<double> l2 = optional_of<double>(given, "l2");
  options.choose_l2 = !l2;
  options.rules.l2 = l2.value_or(0);
  options.l2_candidates = given["l2_grid"].cast<std::vector<double>>();
  options.alpha = optional_of<double>(given, "alpha");
  options.clip = optional_of<double>(given, "clip");
  options.minimize.bound = optional_of<std::pair<double, double>>(given, "bound");
  options.minimize.max_iterations = given["max_iter"].cast<int>();
  options.minimize.tolerance = given["tolerance"].cast<double>();
  options.restarts = given["restarts"].cast<int>();
  options.seed = given["seed"].cast<std::uint64_t>();
  options.skip_bad_rows = given["skip_bad_rows"].cast<bool>();
  const auto rule = given["lambda_rule"].cast<std::string>();
  set_lambdas(options,
              rule == "auto"     ? LambdaRule::automatic
              : rule == "theory" ? LambdaRule::theory
                                 : LambdaRule::given,
              given["lambdas"].cast<std::vector<double>>());
  return request;
}

/// `data` names the rows in what the policy file says of where it comes from.
py::dict learn_rows(const py::dict& rows, const py::dict& given, const std::string& data_name, const py::dict& task) {
  TaskContext context = make_context(task);
  const Rows data(rows);
  const LearningRequest request = learning_request(given);
  const auto path = [](double lambda, std::size_t policies) {
    return policies == 1 ? std::string("learned") : fmt::format("learned-lambda-{}", lambda);
  };
  Learned learned;
  std::string json, text;
  run_task(context, task["progress"], [&](TaskContext& own) {
    learned = learn_from_dataset(request, data.open(read_for_learning(data.reward)), path, own.options);
    json = json_text(learning_json(learned.report, learned.outcomes, learned.context));
    text = learning_text(learned.report, learned.outcomes, learned.context);
  });
  py::list policies;
  for (std::size_t i = 0; i < learned.outcomes.size(); ++i) {
    const LearnOutcome& outcome = learned.outcomes[i];
    policies.append(py::dict(py::arg("name") = outcome.path, py::arg("policy") = learned.policies[i],
                             py::arg("provenance") = provenance(request, outcome.learned, data_name),
                             py::arg("warnings") = learning_warnings(outcome, learned.context)));
  }
  return py::dict(py::arg("json") = json, py::arg("text") = text, py::arg("policies") = policies,
                  py::arg("warnings") = context.warnings);
}

}  // namespace

void bind_learn(py::module_& module) {
  module.def("learn", learn_rows);
}

}  // namespace scrm::python
