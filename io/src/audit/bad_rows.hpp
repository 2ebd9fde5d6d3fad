/// BadRows: the bad rows of one block while it is being decoded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "scrm/io/audit.hpp"
#include "scrm/kernels/block.hpp"
#include "shard/tile.hpp"

namespace scrm {

/// A column as the audit sees it: what its values may be, and what is wrong with those that are not.
struct AuditRule {
  enum class Role : std::uint8_t { context, action, category, loss, propensity, log_propensity, target };
  Role role = Role::context;
  std::string dataset;
  Range range{};

  /// What is wrong with a value outside the range; nothing when it lies inside.
  std::optional<BadRowReason> violation(double value) const noexcept;
};

/// Rules for each dataset. Probabilities may pass one by 1e-6: that much is float32 rounding.
AuditRule context_rule(std::string dataset);
AuditRule action_rule(ActionKind kind, int num_actions);
AuditRule loss_rule();
AuditRule propensity_rule(ActionKind kind, std::string dataset);
AuditRule log_propensity_rule(ActionKind kind);
AuditRule target_rule(ActionKind kind, const std::string& name);

/// Each bad row once, under its first reason in the order of BadRowReason.
class BadRows {
 public:
  bool empty() const noexcept { return !first_; }
  /// `row` counts in the block, `column` is -1 for lists.
  void add(int row, BadRowReason reason, const AuditRule& rule, std::int64_t column, const std::string& file,
           std::int64_t row_in_file, double value);
  /// One for rows to keep, zero for the others.
  std::array<std::uint8_t, kBlockRows> keep() const noexcept;
  /// Adds counts, and the first bad value, to the audit.
  void report(int rows, Audit& audit) const;

 private:
  static constexpr std::uint8_t kGood = 255;
  std::array<std::uint8_t, kBlockRows> reasons_;  ///< filled when the first fault is found
  std::optional<BadValue> first_;
  int first_in_block_ = 0;
};

}  // namespace scrm
