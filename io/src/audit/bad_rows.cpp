#include "audit/bad_rows.hpp"

#include <fmt/format.h>

namespace scrm {
void BadRows::add(int row, BadRowReason reason, const AuditRule& rule, std::int64_t column, const std::string& file,
                  std::int64_t row_in_file, double value) {
  if (!first_) reasons_.fill(kGood);
  std::uint8_t& known = reasons_[static_cast<std::size_t>(row)];
  const auto code = static_cast<std::uint8_t>(reason);
  // An earlier column has reported this row for the same reason or a graver one.
  if (known <= code) return;
  known = code;
  if (first_ && row > first_in_block_) return;
  first_in_block_ = row;
  const std::string place = column < 0 ? rule.dataset : fmt::format("{}[:, {}]", rule.dataset, column);
  first_ = BadValue{reason, file, place, row_in_file, value};
}

std::array<std::uint8_t, kBlockRows> BadRows::keep() const noexcept {
  std::array<std::uint8_t, kBlockRows> flags;
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = reasons_[i] == kGood;
  return flags;
}

void BadRows::report(int rows, Audit& audit) const {
  if (!first_) return;
  Audit mine;
  for (int i = 0; i < rows; ++i) {
    const std::uint8_t reason = reasons_[static_cast<std::size_t>(i)];
    if (reason != kGood) ++mine.counts[reason];
  }
  mine.first = first_;
  audit.merge(mine);
}

}  // namespace scrm
