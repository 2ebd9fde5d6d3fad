#include "sweep/part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "scrm/io/file/error.hpp"
#include "sweep/run/run_groups.hpp"

namespace scrm {
namespace {

constexpr int kMostParts = 1'000'000;

/// The whole text as a number from 1 on; 0 where it is none.
int parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value <= kMostParts ? std::max(value, 0) : 0;
}

}  // namespace

SweepPart parse_part(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const SweepPart part = {parse_count(std::string_view(text).substr(0, slash)),
                          parse_count(std::string_view(text).substr(std::min(slash + 1, text.size())))};
  if (part.index < 1 || part.count < part.index) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--part {}: wants I/N, the number of this part and how many there are, such as 3/64", text));
  }
  return part;
}

std::string to_string(const SweepPart& part) {
  return fmt::format("{}/{}", part.index, part.count);
}

std::vector<bool> runs_of_part(const SweepPlan& plan, const SweepPart& part) {
  std::vector<bool> mine(plan.runs().size(), part.count == 1);
  if (part.count == 1) return mine;
  std::vector<RunGroup> groups = group_runs(
      plan, [](std::size_t) { return true; }, 0, 1);
  std::stable_sort(groups.begin(), groups.end(), [](const RunGroup& a, const RunGroup& b) { return a.cost > b.cost; });
  std::vector<double> load(static_cast<std::size_t>(part.count));
  for (const RunGroup& group : groups) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += group.cost;
    if (least - load.begin() + 1 != part.index) continue;
    for (const std::size_t run : group.runs) mine[run] = true;
  }
  // Runs whose data cannot be had cost nothing: they fail, and the first part says so.
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (plan.experiments()[plan.runs()[i].experiment].factory == nullptr) mine[i] = part.index == 1;
  }
  return mine;
}

}  // namespace scrm
