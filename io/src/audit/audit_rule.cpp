#include "audit/audit_rule.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace scrm {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kRounding = 1e-6;

double highest_probability(ActionKind kind) noexcept {
  return kind == ActionKind::continuous ? kMax : 1 + kRounding;
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
  return {AuditRule::Role::context, std::move(dataset), {-kMax, kMax}};
}

AuditRule action_rule(ActionKind kind, int num_actions) {
  switch (kind) {
    case ActionKind::continuous:
      return {AuditRule::Role::action, "action", {-kMax, kMax}};
    case ActionKind::categorical:
      return {AuditRule::Role::category, "action", {0, static_cast<double>(num_actions) - 1}};
    case ActionKind::multilabel:
      break;
  }
  return {AuditRule::Role::category, "action", {0, 1}};
}

AuditRule loss_rule() {
  return {AuditRule::Role::loss, "loss", {-kMax, kMax}};
}

AuditRule propensity_rule(ActionKind kind, std::string dataset) {
  constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
  return {AuditRule::Role::propensity, std::move(dataset), {kAboveZero, highest_probability(kind)}};
}

AuditRule log_propensity_rule(ActionKind kind) {
  return {AuditRule::Role::log_propensity,
          "log_propensity",
          {-kMax, kind == ActionKind::continuous ? kMax : std::log(highest_probability(kind))}};
}

AuditRule target_rule(ActionKind kind, const std::string& name) {
  return {AuditRule::Role::target, "target/" + name, {0, highest_probability(kind)}};
}

AuditRule model_rule(std::string dataset) {
  return {AuditRule::Role::model, std::move(dataset), {-kMax, kMax}};
}

}  // namespace scrm
