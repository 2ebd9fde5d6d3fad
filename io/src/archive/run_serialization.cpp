#include "scrm/io/archive/run_serialization.hpp"

#include <utility>

#include "file/fields.hpp"

namespace scrm {
namespace {

/// The one list of fields, so that writing and reading cannot differ.
template <class Run, class Direction>
void each_field(Run& run, Direction& direction) {
  direction.field(run.environment);
  direction.field(run.method);
  direction.field(run.hyperparameter);
  direction.field(run.lambda_rule);
  direction.field(run.seed);
  direction.field(run.identity);
  direction.field(run.ok);
  direction.field(run.message);
  direction.field(run.final_loss);
  direction.field(run.seconds);
  direction.field(run.loss);
  direction.field(run.rows);
  direction.field(run.regret);
  direction.field(run.theta);
  direction.field(run.numbers);
  direction.field(run.curves);
}

}  // namespace

std::string serialize_run(const RunRecord& run) {
  FieldWriter writer;
  each_field(run, writer);
  return std::move(writer.bytes);
}

std::optional<RunRecord> deserialize_run(std::string_view bytes) {
  RunRecord run;
  FieldReader reader(bytes);
  each_field(run, reader);
  if (!reader.good()) return std::nullopt;
  return run;
}

}  // namespace scrm
