#include "audit/audit_rule.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "scrm/kernels/scores/transpose.hpp"

namespace scrm {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kRounding = 1e-6;

double highest_probability(ActionKind kind) noexcept {
  return kind == ActionKind::continuous ? kMax : 1 + kRounding;
}

constexpr Range kFinite{-kMax, kMax};

Range propensity_range(ActionKind kind) noexcept {
  return {std::numeric_limits<double>::denorm_min(), highest_probability(kind)};
}

Range log_propensity_range(ActionKind kind) noexcept {
  return {-kMax, kind == ActionKind::continuous ? kMax : std::log(highest_probability(kind))};
}

Range target_range(ActionKind kind) noexcept {
  return {0, highest_probability(kind)};
}

}  // namespace

BadRowReason AuditRule::reason(double value) const noexcept {
  switch (role) {
    case Role::context:
      return BadRowReason::context_not_finite;
    case Role::action:
      return BadRowReason::action_not_finite;
    case Role::category:
      return BadRowReason::action_out_of_range;
    case Role::loss:
      return BadRowReason::loss_not_finite;
    case Role::propensity:
      if (!std::isfinite(value)) return BadRowReason::propensity_not_finite;
      return value <= 0 ? BadRowReason::propensity_not_positive : BadRowReason::probability_above_one;
    case Role::log_propensity:
      if (std::isfinite(value)) return BadRowReason::probability_above_one;
      return value < 0 ? BadRowReason::propensity_not_positive : BadRowReason::propensity_not_finite;
    case Role::target:
      return BadRowReason::target_not_valid;
    case Role::model:
      break;
  }
  return BadRowReason::model_not_finite;
}

AuditRule context_rule(std::string dataset) {
  return {AuditRule::Role::context, std::move(dataset), kFinite};
}

AuditRule action_rule(ActionKind kind, int num_actions) {
  switch (kind) {
    case ActionKind::continuous:
      return {AuditRule::Role::action, "action", kFinite};
    case ActionKind::categorical:
      return {AuditRule::Role::category, "action", {0, static_cast<double>(num_actions) - 1}};
    case ActionKind::multilabel:
      break;
  }
  return {AuditRule::Role::category, "action", {0, 1}};
}

AuditRule loss_rule() {
  return {AuditRule::Role::loss, "loss", kFinite};
}

AuditRule propensity_rule(ActionKind kind, std::string dataset) {
  return {AuditRule::Role::propensity, std::move(dataset), propensity_range(kind)};
}

AuditRule log_propensity_rule(ActionKind kind) {
  return {AuditRule::Role::log_propensity, "log_propensity", log_propensity_range(kind)};
}

AuditRule target_rule(ActionKind kind, const std::string& name) {
  return {AuditRule::Role::target, "target/" + name, target_range(kind)};
}

AuditRule model_rule(std::string dataset) {
  return {AuditRule::Role::model, std::move(dataset), kFinite};
}

bool has_good_lists(const Block& block) noexcept {
  const auto good = [](const double* list, Range range) {
    return list == nullptr || all_in_range(reinterpret_cast<const std::byte*>(list), kBlockRows, range.low, range.high);
  };
  bool all = good(block.action, kFinite) && good(block.loss, kFinite) &&
             good(block.propensity, propensity_range(block.action_kind)) &&
             good(block.log_propensity, log_propensity_range(block.action_kind));
  for (int t = 0; t < block.num_targets; ++t) all = all && good(block.targets[t], target_range(block.action_kind));
  return all;
}

}  // namespace scrm
