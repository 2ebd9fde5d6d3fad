/// Audit: what was wrong with the rows of a data set, by reason, and the first of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "scrm/kernels/block.hpp"

namespace scrm {

enum class BadRowReason : std::uint8_t {
  propensity_not_positive,
  propensity_not_finite,
  probability_above_one,
  action_out_of_range,
  action_not_finite,
  loss_not_finite,
  context_not_finite,
  target_not_valid,  ///< negative, not finite, or a probability above one
  model_not_finite,  ///< what an outside model predicts
};
inline constexpr int kBadRowReasons = 9;

/// A sentence part such as "propensity is not above zero".
const char* to_string(BadRowReason reason) noexcept;
/// A short name for JSON such as "propensity_not_positive".
const char* key(BadRowReason reason) noexcept;

/// The first bad value, as a person would look it up.
struct BadValue {
  BadRowReason reason;
  std::string file;
  std::string dataset;  ///< with the column where there is one, such as "context[:, 3]"
  std::int64_t row;     ///< in that file, zero-based
  double value;
};

/// Mergeable in row order: counts add up, the first bad value is the earliest. A row with several faults counts once,
/// under the first reason in the order of BadRowReason.
struct Audit {
  std::array<std::int64_t, kBadRowReasons> counts{};
  std::optional<BadValue> first;

  std::int64_t bad_rows() const noexcept;
  void merge(const Audit& later);
};

/// Whether an audit would find nothing in the lists of doubles of a whole block: action, loss, propensity and targets.
bool has_good_lists(const Block& block) noexcept;

/// How a message about the first bad row ends: "(3 bad rows in all; --skip-bad-rows goes on without them)".
std::string bad_rows_in_all(std::int64_t total, bool can_skip);

/// Throws the Error that names the first bad value and the total count; does nothing when there is none. `can_skip`:
/// the command has --skip-bad-rows, and the message says so.
void require_no_bad_rows(const Audit& audit, bool can_skip = true);

}  // namespace scrm
