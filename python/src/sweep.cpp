#include <pybind11/stl.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "bindings.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/sweep_json.hpp"
#include "report/text/sweep_table.hpp"
#include "run_task.hpp"
#include "scrm/experiments/sweep.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

/// One row a run, as the archive has them.
py::dict run_columns(const std::vector<RunRecord>& runs) {
  py::dict columns;
  const auto column = [&](const char* name, auto&& value_of) {
    py::list values;
    for (const RunRecord& run : runs) values.append(value_of(run));
    columns[name] = values;
  };
  column("environment", [](const RunRecord& run) { return run.environment; });
  column("method", [](const RunRecord& run) { return run.method; });
  column("hyperparameter", [](const RunRecord& run) { return run.hyperparameter; });
  column("lambda_rule", [](const RunRecord& run) { return run.lambda_rule; });
  column("seed", [](const RunRecord& run) { return run.seed; });
  column("status", [](const RunRecord& run) { return run.ok ? "ok" : "failed"; });
  column("message", [](const RunRecord& run) { return run.message; });
  column("final_loss", [](const RunRecord& run) { return run.final_loss; });
  column("seconds", [](const RunRecord& run) { return run.seconds; });
  column("loss", [](const RunRecord& run) { return run.loss; });
  column("rows", [](const RunRecord& run) { return run.rows; });
  column("regret", [](const RunRecord& run) { return run.regret; });
  return columns;
}

py::dict sweep(const std::string& path, const py::dict& given, const py::dict& task) {
  const Stopwatch watch;
  const std::clock_t cpu_begin = std::clock();
  TaskContext context = make_context(task);
  SweepOptions options;
  options.out = given["out"].cast<std::string>();
  const auto part = optional_of<std::string>(given, "part");
  if (part) options.part = parse_part(*part);
  options.resume = given["resume"].cast<bool>();
  options.overwrite = given["overwrite"].cast<bool>();
  context.thread_waits = true;
  options.stop = context.options.stop;
  SweepReport report;
  run_task(context, task["progress"], [&](TaskContext& own) {
    options.threads = own.options.threads;
    options.memory = own.options.ledger().left();
    options.on_warning = own.options.warn;
    const Progress tell = own.options.progress("sweep", "runs");
    options.on_progress = [&](const SweepState& state) {
      tell(static_cast<std::int64_t>(state.done), static_cast<std::int64_t>(state.runs));
    };
    report = run_sweep(SweepFile(path), options);
  });
  std::vector<SweepCell> cells = sweep_cells(report.runs);
  add_inapplicable(report.inapplicable, cells);
  const SweepInvocation invocation{options.out, part.value_or(""), watch.seconds(),
                                   static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC,
                                   context.options.threads};
  return py::dict(py::arg("json") = json_text(sweep_json(report, invocation)), py::arg("text") = sweep_table(cells),
                  py::arg("runs") = run_columns(report.runs), py::arg("unfinished") = report.unfinished,
                  py::arg("warnings") = context.warnings);
}

}  // namespace

void bind_sweep(py::module_& module) {
  module.def("sweep", sweep);
}

}  // namespace scrm::python
