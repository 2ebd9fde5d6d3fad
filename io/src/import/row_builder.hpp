/// RowBuilder: the numbers of a row, audited and collected in a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/audit_rule.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

class RowBuilder {
 public:
  explicit RowBuilder(const Schema& schema);

  /// The numbers of the row at hand, to be written before audit(): context, action (or bits), loss, propensity,
  /// label_propensity, targets, as far as the schema has them.
  std::span<double> values() noexcept { return values_; }
  /// Of the row at hand, where the schema has it. It is no double, which cannot hold every number.
  void set_cluster(std::int64_t number) noexcept { cluster_ = number; }

  /// What is wrong with the row at hand, and which of its numbers. A row with several faults has the reason that comes
  /// first in BadRowReason.
  struct Violation {
    BadRowReason reason;
    std::size_t value;
  };
  std::optional<Violation> audit() const noexcept;

  /// Adds the row at hand to the block.
  void store() noexcept;

  int rows() const noexcept { return rows_; }
  bool full() const noexcept { return rows_ == kBlockRows; }
  /// The rows collected so far; they are gone with the next store().
  Block take() noexcept;

 private:
  struct ValueRule {
    AuditRule rule;
    bool whole;  ///< no fractions
  };
  void add_rules(std::size_t count, const AuditRule& rule, bool whole = false);

  BlockBuffer buffer_;
  std::size_t features_;
  AuditRule context_;
  std::vector<ValueRule> rules_;  // of the numbers behind the context
  std::vector<double> values_;
  std::int64_t cluster_ = 0;
  int rows_ = 0;
};

}  // namespace scrm
