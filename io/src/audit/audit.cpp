#include "scrm/io/shard/audit.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// In the order of BadRowReason: the key, and a sentence whose first word is the column and whose rest is said of the
/// value.
constexpr std::array<std::pair<const char*, const char*>, kBadRowReasons> kReasons = {{
    {"propensity_not_positive", "propensity is not above zero"},
    {"propensity_not_finite", "propensity is not finite"},
    {"probability_above_one", "propensity is a probability above one"},
    {"action_out_of_range", "action is out of range"},
    {"action_not_finite", "action is not finite"},
    {"loss_not_finite", "loss is not finite"},
    {"context_not_finite", "context is not finite"},
    {"target_not_valid", "target is not a valid probability or density"},
    {"model_not_finite", "model is not finite"},
}};

/// "is not above zero" of "propensity is not above zero".
std::string_view value_problem(BadRowReason reason) noexcept {
  const std::string_view sentence = to_string(reason);
  return sentence.substr(sentence.find(' ') + 1);
}

}  // namespace

const char* to_string(BadRowReason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)].second;
}

const char* key(BadRowReason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)].first;
}

std::int64_t Audit::bad_rows() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void Audit::merge(const Audit& later) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += later.counts[i];
  if (!first) first = later.first;
}

std::string bad_rows_in_all(std::int64_t total, bool can_skip) {
  const bool one = total == 1;
  const std::string remedy = can_skip ? fmt::format("; --skip-bad-rows goes on without {}", one ? "it" : "them") : "";
  return fmt::format("({} bad row{} in all{})", total, one ? "" : "s", remedy);
}

void require_no_bad_rows(const Audit& audit, bool can_skip) {
  if (!audit.first) return;
  const BadValue& bad = *audit.first;
  const bool of_logarithm = bad.dataset == "log_propensity" && bad.reason != BadRowReason::propensity_not_finite;
  throw Error(ErrorKind::data,
              fmt::format("{} {}{} {}", bad.value, of_logarithm ? "is the logarithm of a propensity that " : "",
                          value_problem(bad.reason), bad_rows_in_all(audit.bad_rows(), can_skip)),
              {bad.file, bad.dataset, bad.row});
}

}  // namespace scrm
