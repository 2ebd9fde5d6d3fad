// labels: fast io
#include "audit/audit_rule.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

using Reason = BadRowReason;
using Counts = std::array<std::int64_t, kBadRowReasons>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A row that is good but for the value in one column.
struct Case {
  const char* column;  ///< of the CSV file: x, a, l, p (propensity), g (its logarithm), t (target)
  ActionKind kind;
  double value;
  std::optional<Reason> expected;
};

std::vector<Case> cases() {
  const ActionKind discrete = ActionKind::categorical, density = ActionKind::continuous;
  return {{"p", discrete, 1, {}},
          {"p", discrete, 1.0000001, {}},  // a probability of one, rounded to float32 on its way
          {"p", discrete, 1.00001, Reason::probability_above_one},
          {"p", discrete, 0, Reason::propensity_not_positive},
          {"p", discrete, -0.5, Reason::propensity_not_positive},
          {"p", discrete, kNaN, Reason::propensity_not_finite},
          {"p", discrete, kInf, Reason::propensity_not_finite},
          {"p", discrete, -kInf, Reason::propensity_not_finite},
          {"p", discrete, std::numeric_limits<double>::denorm_min(), {}},
          {"p", density, 1.00001, {}},
          {"p", density, 1e300, {}},
          {"p", density, 0, Reason::propensity_not_positive},
          {"p", density, kInf, Reason::propensity_not_finite},
          {"g", discrete, 0, {}},
          {"g", discrete, 1e-7, {}},
          {"g", discrete, 1e-5, Reason::probability_above_one},
          {"g", discrete, -800, {}},
          {"g", discrete, -kInf, Reason::propensity_not_positive},
          {"g", discrete, kInf, Reason::propensity_not_finite},
          {"g", discrete, kNaN, Reason::propensity_not_finite},
          {"g", density, 1e-5, {}},
          {"g", density, -kInf, Reason::propensity_not_positive},
          {"t", discrete, 0, {}},
          {"t", discrete, 1.0000001, {}},
          {"t", discrete, 1.00001, Reason::target_not_valid},
          {"t", discrete, -1e-9, Reason::target_not_valid},
          {"t", discrete, kNaN, Reason::target_not_valid},
          {"t", density, 7, {}},
          {"a", discrete, 2, {}},
          {"a", discrete, 3, Reason::action_out_of_range},
          {"a", discrete, -1, Reason::action_out_of_range},
          {"a", density, -kInf, Reason::action_not_finite},
          {"a", density, 1e300, {}},
          {"l", density, kNaN, Reason::loss_not_finite},
          {"x", density, kInf, Reason::context_not_finite},
          {"x", density, -1e300, {}}};
}

double value_of(const Case& one, const char* column, double good) {
  return std::string(column) == one.column ? one.value : good;
}

/// What reading a shard with this row counts.
Counts in_shard(const Folder& folder, const Case& one) {
  Schema schema;
  schema.action_kind = one.kind;
  schema.num_actions = one.kind == ActionKind::categorical ? 3 : 0;
  schema.features = 1;
  schema.targets = {"t"};
  schema.propensity = std::string(one.column) == "g" ? PropensityForm::logarithm : PropensityForm::linear;
  BlockBuffer row(schema);
  row.context_f64()[0] = value_of(one, "x", 1);
  if (one.kind == ActionKind::categorical) {
    row.category()[0] = static_cast<std::int32_t>(value_of(one, "a", 1));
  } else {
    row.action()[0] = value_of(one, "a", 1);
  }
  row.loss()[0] = value_of(one, "l", 1);
  row.propensity()[0] = value_of(one, one.column[0] == 'g' ? "g" : "p", 0.5);
  row.target(0)[0] = value_of(one, "t", 0.5);
  ShardWriter writer(folder / "row.h5", schema, {});
  writer.append(row.view(0, 1));
  writer.commit();

  Dataset data({folder / "row.h5"}, {.targets = {"t"}});
  BlockBuffer out(data.schema());
  Audit audit;
  data.fetch(0, 1)->decode(0, 1, out, audit);
  return audit.counts;
}

/// What importing a CSV file with this row counts.
Counts in_csv(const Folder& folder, const Case& one) {
  std::string text = "x,a,l,p,g,t\n";
  for (const auto& [column, good] : {std::pair{"x", 1.0}, {"a", 1.0}, {"l", 1.0}, {"p", 0.5}, {"g", -0.5}, {"t", 0.5}})
    text += fmt::format("{}{}", text.back() == '\n' ? "" : ",", value_of(one, column, good));
  write_bytes(folder / "row.csv", text + "\n");
  CsvImport import;
  import.files = {folder / "row.csv"};
  import.out = folder / "imported.h5";
  import.context = {"x"};
  import.action = {"a"};
  import.loss = "l";
  (std::string(one.column) == "g" ? import.log_propensity : import.propensity) = one.column[0] == 'g' ? "g" : "p";
  import.targets = {{ "t", "t" }};
  import.action_kind = one.kind;
  import.num_actions = one.kind == ActionKind::categorical ? 3 : 0;
  import.skip_bad_rows = true;
  const ImportResult result = import_csv(import);
  CHECK(result.skipped_rows() + result.rows == 1);
  return result.bad_rows;
}

}  // namespace

TEST_CASE("audit: a value is good or bad, and for the same reason, in a shard and in a CSV file") {
  const Folder folder;
  for (const Case& one : cases()) {
    CAPTURE(one.column);
    CAPTURE(to_string(one.kind));
    CAPTURE(one.value);
    Counts expected{};
    if (one.expected) expected[static_cast<std::size_t>(*one.expected)] = 1;
    CHECK(in_shard(folder, one) == expected);
    CHECK(in_csv(folder, one) == expected);
  }
}

TEST_CASE("audit: what a CSV file can say and a shard cannot hold is bad too: large float32, fractions of categories") {
  const Folder folder;
  write_bytes(folder / "in.csv", "x,a,l,p\n1e39,1,1,0.5\n1,0.5,1,0.5\n-3e38,1,1,0.5\n");
  CsvImport import;
  import.files = {folder / "in.csv"};
  import.out = folder / "out.h5";
  import.context = {"x"};
  import.action = {"a"};
  import.loss = "l";
  import.propensity = "p";
  import.action_kind = ActionKind::categorical;
  import.num_actions = 3;
  import.float32 = true;
  import.skip_bad_rows = true;
  Counts expected{};
  expected[static_cast<std::size_t>(Reason::context_not_finite)] = 1;
  expected[static_cast<std::size_t>(Reason::action_out_of_range)] = 1;
  const ImportResult result = import_csv(import);
  CHECK(result.bad_rows == expected);
  CHECK(result.rows == 1);
}
