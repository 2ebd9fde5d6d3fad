#include "report/inspection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/terminal.hpp"
#include "scrm/io/shard/unlogged_actions.hpp"

namespace scrm {

namespace {

using Json = nlohmann::ordered_json;

/// A mean weight further than this many standard errors from 1 is no accident, even with weights of long tails.
constexpr double kSuspiciousScore = 5;
/// A spread below this share of the mean is rounding.
constexpr double kRounding = 1e-12;
/// Propensities below this make weights that a few rows dominate.
constexpr double kSmallPropensity = 1e-3;
/// A share of rows with small propensities that deserves a word.
constexpr double kNotableShare = 0.01;

Json distribution_json(const Moments& values) {
  if (values.count == 0) return {{"min", nullptr}, {"max", nullptr}, {"mean", nullptr}, {"sd", nullptr}};
  return {{"min", values.lowest}, {"max", values.highest}, {"mean", values.mean}, {"sd", sample_sd(values)}};
}

Json histogram_json(const PropensityHistogram& histogram) {
  Json bins = Json::array();
  for (int b = 0; b < PropensityHistogram::kBins; ++b) {
    const std::int64_t rows = histogram.counts[static_cast<std::size_t>(b)];
    if (rows == 0) continue;
    Json bin = {{"low", PropensityHistogram::lower_edge(b)}, {"high", nullptr}, {"rows", rows}};
    if (b + 1 < PropensityHistogram::kBins) bin["high"] = PropensityHistogram::lower_edge(b + 1);
    bins.push_back(std::move(bin));
  }
  return bins;
}

Json audit_json(const Audit& audit) {
  Json reasons = Json::object();
  for (int r = 0; r < kBadRowReasons; ++r) {
    if (static_cast<BadRowReason>(r) == BadRowReason::model_not_finite) continue;  // models are not read here
    reasons[key(static_cast<BadRowReason>(r))] = audit.counts[static_cast<std::size_t>(r)];
  }
  return reasons;
}

Json first_bad_json(const Audit& audit) {
  if (!audit.first) return nullptr;
  const BadValue& bad = *audit.first;
  Json value = bad.value;
  // JSON has no number for these, and which of them it is matters here.
  if (!std::isfinite(bad.value)) value = fmt::format("{}", bad.value);
  return {
      {"reason", key(bad.reason)}, {"file", bad.file}, {"dataset", bad.dataset}, {"row", bad.row}, {"value", value}};
}

Json rollouts_json(const Inspection& inspection) {
  std::map<int, std::pair<std::int64_t, int>> rollouts;
  for (const Shard& shard : inspection.shards) {
    rollouts[shard.rollout].first += shard.rows;
    ++rollouts[shard.rollout].second;
  }
  Json list = Json::array();
  for (const auto& [number, sizes] : rollouts) {
    list.push_back({{"rollout", number}, {"rows", sizes.first}, {"shards", sizes.second}});
  }
  return list;
}

void add_actions(const Inspection& inspection, Json& json) {
  const Summary& summary = inspection.summary;
  switch (inspection.schema.action_kind) {
    case ActionKind::continuous:
      json["action"] = distribution_json(summary.action);
      break;
    case ActionKind::categorical:
      json["action_counts"] = summary.action_counts;
      json["uniform_weight"] = distribution_json(summary.uniform_weight);
      break;
    case ActionKind::multilabel:
      json["label_rates"] = Json::array();
      for (const std::int64_t count : summary.action_counts) {
        json["label_rates"].push_back(static_cast<double>(count) / static_cast<double>(summary.rows));
      }
      break;
  }
}

void add_context(const Inspection& inspection, Json& json) {
  const Summary& summary = inspection.summary;
  if (inspection.schema.sparse) {
    json["entries_per_row"] = distribution_json(summary.entries_per_row);
    json["entries"] = distribution_json(summary.entries);
    return;
  }
  json["context"] = Json::array();
  for (const Moments& feature : summary.features) json["context"].push_back(distribution_json(feature));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxListed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxListed, names.size()); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", names[i]);
  }
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text;
}

/// Empty where weights average to one as far as chance and rounded propensities go; else how they differ, in words.
std::string weights_off_one(const Moments& weights) {
  if (weights.count < 2 || rounds_to_one(weights.mean)) return "";
  const double score = z_score(weights, 1.0);
  if (is_constant(weights)) return fmt::format("{} instead of 1 in every row", human_number(weights.mean));
  if (std::abs(score) <= kSuspiciousScore) return "";
  return fmt::format("{}, {} standard errors from 1", human_number(weights.mean), human_number(std::abs(score)));
}

void remark_on_actions(const Inspection& inspection, std::vector<std::string>& out) {
  const Summary& summary = inspection.summary;
  const bool labels = inspection.schema.action_kind == ActionKind::multilabel;
  std::vector<std::string> never;
  for (std::size_t k = 0; k < summary.action_counts.size(); ++k) {
    if (summary.action_counts[k] == 0) never.push_back(action_name(inspection.schema, k));
  }
  if (!never.empty()) {
    const std::string hint = labels ? "" : first_action_hint(summary.action_counts, inspection.schema.action_names);
    out.push_back(fmt::format("{} never {}: {}{}; nothing can be said about policies that choose {}",
                              labels ? "labels" : "actions", labels ? "set" : "taken", listed(never), hint,
                              never.size() == 1 ? "it" : "them"));
  }
  const std::string off = weights_off_one(summary.uniform_weight);
  if (never.empty() && !off.empty()) {
    out.push_back(
        fmt::format("1/(K propensity) averages {}: the propensities are not those of the policy that chose the "
                    "actions, or some actions had no chance",
                    off));
  }
}

void remark_on_propensities(const Inspection& inspection, std::vector<std::string>& out) {
  const Summary& summary = inspection.summary;
  if (summary.rows > 1 && summary.propensity.lowest == summary.propensity.highest) {
    const bool certain = inspection.schema.action_kind != ActionKind::continuous && summary.propensity.lowest == 1 &&
                         (inspection.schema.action_kind == ActionKind::multilabel || inspection.schema.num_actions > 1);
    out.push_back(certain ? "every propensity is 1: the logging policy always did the same in a context, so these rows "
                            "say nothing about anything else it could have done"
                          : fmt::format("every propensity is {}: right for uniform logging, a mistake otherwise",
                                        human_number(summary.propensity.lowest)));
  }
  std::int64_t small = 0;
  for (int b = 0; PropensityHistogram::lower_edge(b + 1) <= kSmallPropensity; ++b) {
    small += summary.histogram.counts[static_cast<std::size_t>(b)];
  }
  const double share = static_cast<double>(small) / static_cast<double>(summary.rows);
  if (inspection.schema.action_kind != ActionKind::multilabel && share > kNotableShare) {
    out.push_back(
        fmt::format("{} ({:.1f} %) {} a propensity below {}: a policy that likes their actions will "
                    "rest on few rows",
                    counted(small, "row"), 100 * share, small == 1 ? "has" : "have", kSmallPropensity));
  }
  for (std::size_t t = 0; t < summary.target_weights.size(); ++t) {
    const std::string off = weights_off_one(summary.target_weights[t]);
    if (!off.empty()) {
      out.push_back(
          fmt::format("weights of target/{} average {}: its probabilities or the propensities are wrong, or the "
                      "logging policy never takes actions it takes",
                      inspection.schema.targets[t], off));
    }
  }
}

}  // namespace

std::string feature_name(const Schema& schema, std::size_t feature) {
  return schema.context_columns.empty() ? fmt::format("context[{}]", feature) : schema.context_columns[feature];
}

std::string action_name(const Schema& schema, std::size_t action) {
  return schema.action_names.empty() ? std::to_string(action) : schema.action_names[action];
}

bool is_constant(const Moments& weights) {
  return sample_sd(weights) <= kRounding * weights.mean;
}

std::int64_t Inspection::bytes() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.bytes;
  return sum;
}

std::vector<std::string> remarks(const Inspection& inspection) {
  const Summary& summary = inspection.summary;
  const Schema& schema = inspection.schema;
  std::vector<std::string> out;
  if (summary.rows == 0) return out;
  remark_on_actions(inspection, out);
  remark_on_propensities(inspection, out);
  if (!schema.unnamed_columns.empty()) out.push_back(unnamed_columns_warning(schema));
  out.insert(out.end(), inspection.copies.begin(), inspection.copies.end());
  if (summary.rows > 1 && summary.loss.lowest == summary.loss.highest) {
    out.push_back(fmt::format("every {} is {}: there is nothing to compare policies by",
                              to_string(schema.outcome.value_or(Outcome::loss)), summary.loss.lowest));
  }
  if (summary.rows > 1 && !(std::isfinite(summary.loss.mean) && std::isfinite(summary.loss.square_sum))) {
    out.push_back(
        "the losses are so large that their spread is beyond the largest number, and no standard error "
        "can be given; divide all losses by a constant");
  }
  std::vector<std::string> constant;
  for (std::size_t j = 0; summary.rows > 1 && j < summary.features.size(); ++j) {
    if (summary.features[j].lowest == summary.features[j].highest)
      constant.push_back(schema.context_columns.empty() ? std::to_string(j) : schema.context_columns[j]);
  }
  if (!constant.empty()) {
    out.push_back(fmt::format("{}: {}; policies have an intercept already",
                              constant.size() == 1 ? "a feature never changes" : "features never change",
                              listed(constant)));
  }
  return out;
}

Json inspection_json(const Inspection& inspection) {
  const Schema& schema = inspection.schema;
  const Summary& summary = inspection.summary;
  Json json = {{"rows", inspection.rows},
               {"shards", inspection.shards.size()},
               {"features", schema.features},
               {"action_kind", to_string(schema.action_kind)},
               {"num_actions", schema.num_actions},
               {"outcome", to_string(schema.outcome.value_or(Outcome::loss))},
               {"sparse", schema.sparse},
               {"float32", schema.context_type == FloatType::f32},
               {"bytes", inspection.bytes()},
               {"bad_rows", inspection.audit.bad_rows()},
               {"bad_rows_by_reason", audit_json(inspection.audit)},
               {"first_bad_row", first_bad_json(inspection.audit)},
               {"rollouts", rollouts_json(inspection)},
               {"loss", distribution_json(summary.loss)},
               {"propensity", distribution_json(summary.propensity)}};
  json["propensity"]["histogram"] = histogram_json(summary.histogram);
  json["log_propensity"] = distribution_json(summary.log_propensity);
  add_actions(inspection, json);
  add_context(inspection, json);
  json["targets"] = Json::array();
  for (std::size_t t = 0; t < schema.targets.size(); ++t) {
    const Moments& weights = summary.target_weights[t];
    json["targets"].push_back({{"name", schema.targets[t]},
                               {"mean_weight", weights.mean},
                               {"mean_weight_z", z_score(weights, 1.0)},
                               {"max_weight", weights.highest}});
  }
  if (schema.cluster) json["clusters"] = true;
  if (!schema.context_columns.empty()) json["context_columns"] = schema.context_columns;
  if (!schema.action_names.empty()) json["action_names"] = schema.action_names;
  json["remarks"] = remarks(inspection);
  json["seconds"] = inspection.seconds;
  return json;
}

}  // namespace scrm
