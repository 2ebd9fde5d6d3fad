// labels: slow
#include <doctest/doctest.h>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

TEST_CASE("evaluate: every number equals the reference over a million rows and three") {
  Schema schema;
  schema.features = 2;
  for (const double decades : {0.5, 299.0}) {
    CAPTURE(decades);
    const LoggedRows rows = random_rows(schema, 1000003, 6, decades);
    MemorySource source = make_source(rows);
    const Policy policy = random_policy(PolicyKind::gaussian, schema, 3);
    EvaluateOptions options = with_normal_intervals();
    options.interval = IntervalKind::student;
    const EvaluationReport report =
        evaluate(source, {{"policy", make_target_policy(policy, schema, "policy")}}, options, {});
    check_report(report.policies.front(), {policy_weights(policy, rows), losses(rows), {}}, options, 1e-12);
  }
}
