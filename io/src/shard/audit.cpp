#include "scrm/io/audit.hpp"

#include <fmt/format.h>

#include <numeric>

#include "scrm/io/error.hpp"

namespace scrm {
namespace {

/// Said of the value itself: "<value> is not above zero".
const char* verdict(BadRow reason) noexcept {
  switch (reason) {
    case BadRow::propensity_not_positive:
      return "is not above zero";
    case BadRow::propensity_not_finite:
    case BadRow::action_not_finite:
    case BadRow::loss_not_finite:
    case BadRow::context_not_finite:
      return "is not finite";
    case BadRow::probability_above_one:
      return "is a probability above one";
    case BadRow::action_out_of_range:
      return "is out of range";
    case BadRow::target_not_valid:
      return "is not a valid probability or density";
  }
  return "is bad";
}

}  // namespace

const char* to_string(BadRow reason) noexcept {
  switch (reason) {
    case BadRow::propensity_not_positive:
      return "propensity is not above zero";
    case BadRow::propensity_not_finite:
      return "propensity is not finite";
    case BadRow::probability_above_one:
      return "propensity is a probability above one";
    case BadRow::action_out_of_range:
      return "action is out of range";
    case BadRow::action_not_finite:
      return "action is not finite";
    case BadRow::loss_not_finite:
      return "loss is not finite";
    case BadRow::context_not_finite:
      return "context is not finite";
    case BadRow::target_not_valid:
      return "target is not a valid probability or density";
  }
  return "unknown";
}

const char* key(BadRow reason) noexcept {
  switch (reason) {
    case BadRow::propensity_not_positive:
      return "propensity_not_positive";
    case BadRow::propensity_not_finite:
      return "propensity_not_finite";
    case BadRow::probability_above_one:
      return "probability_above_one";
    case BadRow::action_out_of_range:
      return "action_out_of_range";
    case BadRow::action_not_finite:
      return "action_not_finite";
    case BadRow::loss_not_finite:
      return "loss_not_finite";
    case BadRow::context_not_finite:
      return "context_not_finite";
    case BadRow::target_not_valid:
      return "target_not_valid";
  }
  return "unknown";
}

std::int64_t Audit::bad_rows() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void Audit::merge(const Audit& later) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += later.counts[i];
  if (!first) first = later.first;
}

void require_clean(const Audit& audit, bool can_skip) {
  if (!audit.first) return;
  const BadValue& bad = *audit.first;
  const std::int64_t total = audit.bad_rows();
  const bool of_logarithm = bad.dataset == "log_propensity" && bad.reason != BadRow::propensity_not_finite;
  const std::string remedy =
      can_skip ? fmt::format("; --skip-bad-rows goes on without {}", total == 1 ? "it" : "them") : "";
  throw Error(ErrorKind::data,
              fmt::format("{} {}{} ({} bad row{} in all{})", bad.value,
                          of_logarithm ? "is the logarithm of a propensity that " : "", verdict(bad.reason), total,
                          total == 1 ? "" : "s", remedy),
              {bad.file, bad.dataset, bad.row});
}

}  // namespace scrm
