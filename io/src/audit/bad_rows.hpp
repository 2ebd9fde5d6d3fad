/// BadRows: the bad rows of one block while it is being decoded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "audit/audit_rule.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

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
