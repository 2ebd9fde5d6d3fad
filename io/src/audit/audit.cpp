#include "scrm/io/audit.hpp"

#include <fmt/format.h>

#include <numeric>

#include "scrm/io/error.hpp"

namespace scrm {
namespace {

/// Said of the value itself: "<value> is not above zero".
const char* value_problem(BadRowReason reason) noexcept {
  switch (reason) {
    case BadRowReason::propensity_not_positive:
      return "is not above zero";
    case BadRowReason::propensity_not_finite:
    case BadRowReason::action_not_finite:
    case BadRowReason::loss_not_finite:
    case BadRowReason::context_not_finite:
      return "is not finite";
    case BadRowReason::probability_above_one:
      return "is a probability above one";
    case BadRowReason::action_out_of_range:
      return "is out of range";
    case BadRowReason::target_not_valid:
      return "is not a valid probability or density";
  }
  return "is bad";
}

}  // namespace

const char* to_string(BadRowReason reason) noexcept {
  switch (reason) {
    case BadRowReason::propensity_not_positive:
      return "propensity is not above zero";
    case BadRowReason::propensity_not_finite:
      return "propensity is not finite";
    case BadRowReason::probability_above_one:
      return "propensity is a probability above one";
    case BadRowReason::action_out_of_range:
      return "action is out of range";
    case BadRowReason::action_not_finite:
      return "action is not finite";
    case BadRowReason::loss_not_finite:
      return "loss is not finite";
    case BadRowReason::context_not_finite:
      return "context is not finite";
    case BadRowReason::target_not_valid:
      return "target is not a valid probability or density";
  }
  return "unknown";
}

const char* key(BadRowReason reason) noexcept {
  switch (reason) {
    case BadRowReason::propensity_not_positive:
      return "propensity_not_positive";
    case BadRowReason::propensity_not_finite:
      return "propensity_not_finite";
    case BadRowReason::probability_above_one:
      return "probability_above_one";
    case BadRowReason::action_out_of_range:
      return "action_out_of_range";
    case BadRowReason::action_not_finite:
      return "action_not_finite";
    case BadRowReason::loss_not_finite:
      return "loss_not_finite";
    case BadRowReason::context_not_finite:
      return "context_not_finite";
    case BadRowReason::target_not_valid:
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

void require_no_bad_rows(const Audit& audit, bool can_skip) {
  if (!audit.first) return;
  const BadValue& bad = *audit.first;
  const std::int64_t total = audit.bad_rows();
  const bool of_logarithm = bad.dataset == "log_propensity" && bad.reason != BadRowReason::propensity_not_finite;
  const std::string remedy =
      can_skip ? fmt::format("; --skip-bad-rows goes on without {}", total == 1 ? "it" : "them") : "";
  throw Error(ErrorKind::data,
              fmt::format("{} {}{} ({} bad row{} in all{})", bad.value,
                          of_logarithm ? "is the logarithm of a propensity that " : "", value_problem(bad.reason),
                          total, total == 1 ? "" : "s", remedy),
              {bad.file, bad.dataset, bad.row});
}

}  // namespace scrm
