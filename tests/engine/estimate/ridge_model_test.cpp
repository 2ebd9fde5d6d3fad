// labels: fast
#include "scrm/engine/estimate/ridge_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

Schema schema_of(ActionKind kind) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = kind == ActionKind::continuous ? 0 : 3;
  schema.features = 4;
  return schema;
}

/// What the model that is fitted to the rows says of their own actions.
std::vector<double> fitted(const LoggedRows& rows) {
  MemorySource source = make_source(rows);
  const std::shared_ptr<const OutcomeModel> model = fit_ridge_model(source, {}, {});
  const std::unique_ptr<BlockLoader> loader = source.make_loader();
  PolicyScratch scratch;
  std::vector<double> out, column(kBlockRows);
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const std::unique_ptr<BlockGroup> group = source.fetch(b, 1);
    Audit audit;
    const Block block = source.load(*group, b, *loader, audit);
    model->logged(block, scratch, column.data());
    out.insert(out.end(), column.begin(), column.begin() + block.rows);
  }
  return out;
}

}  // namespace

TEST_CASE("ridge model: a row's own loss does not move its prediction, but those of others") {
  for (const ActionKind kind : {ActionKind::continuous, ActionKind::categorical, ActionKind::multilabel}) {
    const std::string name = to_string(kind);
    CAPTURE(name);
    LoggedRows rows = random_rows(schema_of(kind), 600, 5);
    const std::vector<double> before = fitted(rows);
    for (const std::size_t row : {std::size_t{0}, std::size_t{17}, std::size_t{599}}) {
      CAPTURE(row);
      LoggedRows changed = rows;
      changed.loss[row] += 0.5;
      const std::vector<double> after = fitted(changed);
      CHECK(after[row] == doctest::Approx(before[row]).epsilon(1e-9));
      double moved = 0;
      for (std::size_t i = 0; i < after.size(); ++i) moved += std::abs(after[i] - before[i]);
      CHECK(moved > 1e-2);
    }
  }
}

TEST_CASE("ridge model: losses that are linear in context and action are found") {
  LoggedRows rows = random_rows(schema_of(ActionKind::continuous), 600, 6);
  for (std::size_t i = 0; i < rows.loss.size(); ++i) rows.loss[i] = 3 + 2 * rows.action[i];
  const std::vector<double> found = fitted(rows);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(rows.loss[i]).epsilon(1e-2));
}

TEST_CASE("ridge model: sparse contexts are predicted as well as the same contexts held densely") {
  for (const ActionKind kind : {ActionKind::continuous, ActionKind::categorical, ActionKind::multilabel}) {
    Schema schema = schema_of(kind);
    schema.sparse = true;
    LoggedRows rows = random_rows(schema, 600, 7);
    for (std::size_t i = 0; i < rows.loss.size(); ++i)
      rows.loss[i] = 0.01 * rows.loss[i] + rows.context[i * static_cast<std::size_t>(schema.features)];
    const std::vector<double> sparse = fitted(rows);
    rows.schema.sparse = false;
    const std::vector<double> dense = fitted(rows);
    // Penalties are chosen otherwise, and dense predictions of categories stay within the losses that were seen.
    std::size_t far = 0;
    double difference = 0;
    for (std::size_t i = 0; i < sparse.size(); ++i) {
      far += std::abs(sparse[i] - dense[i]) < 0.15 ? 0 : 1;
      difference += std::abs(sparse[i] - dense[i]) / static_cast<double>(sparse.size());
    }
    CHECK(far <= 6);
    CHECK(difference < 0.03);
  }
}
