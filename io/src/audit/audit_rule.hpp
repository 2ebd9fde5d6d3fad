/// AuditRule: what the values of a column may be, and what is wrong with those that are not, wherever they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scrm/io/shard/audit.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

/// The values that are accepted, both ends included; NaN never is.
struct Range {
  double low;
  double high;

  bool holds(double value) const noexcept { return value >= low && value <= high; }
};

struct AuditRule {
  enum class Role : std::uint8_t { context, action, category, loss, propensity, log_propensity, target, model };
  Role role = Role::context;
  std::string dataset;
  Range range{};

  /// What is wrong with a value outside the range; nothing when it lies inside.
  std::optional<BadRowReason> violation(double value) const noexcept {
    return range.holds(value) ? std::nullopt : std::optional(reason(value));
  }

  /// Of a value outside the range.
  BadRowReason reason(double value) const noexcept;
};

/// Rules for each dataset. Probabilities may pass one by 1e-6: that much is float32 rounding.
AuditRule context_rule(std::string dataset);
AuditRule action_rule(ActionKind kind, int num_actions);
AuditRule loss_rule();
AuditRule propensity_rule(ActionKind kind, std::string dataset);
AuditRule log_propensity_rule(ActionKind kind);
AuditRule target_rule(ActionKind kind, const std::string& name);
AuditRule model_rule(std::string dataset);

}  // namespace scrm
