#include "pass/pass_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"

namespace scrm {
namespace {

/// Levels of a merge tree over that many leaves, the leaf that is being added included: as many partials are alive.
std::size_t tree_partials(std::int64_t leaves) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, leaves)))) + 1;
}

std::int64_t groups_of(const Source& source) {
  return (source.blocks() + source.group_blocks() - 1) / source.group_blocks();
}

PassPlan widest_plan(const Source& source, const PassOptions& options) {
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>(groups_of(source), 1, resolve_threads(options.threads)));
  return {threads, threads == 1 ? 1 : 2 * threads, options.ranks != nullptr && !options.ranks->alone()};
}

}  // namespace

std::size_t pass_bytes(const Source& source, const ReductionBytes& reduction, const PassPlan& plan) {
  const auto threads = static_cast<std::size_t>(plan.threads);
  const auto groups = static_cast<std::size_t>(plan.groups_in_flight);
  const std::size_t group_partials = tree_partials(std::min<std::int64_t>(source.group_blocks(), source.blocks()));
  // Every group in flight ends as one partial, which waits for its turn in the tree over groups.
  std::size_t partials = threads * group_partials + groups + tree_partials(groups_of(source));
  // The subtrees of a rank, once as they are and twice as bytes: a message, and the copy of it that is sent.
  constexpr std::size_t kRankSubtrees = 8;
  if (plan.ranked) partials += 3 * kRankSubtrees;
  // Twice while the blocks of a group are put together, once while they wait.
  const auto blocks = static_cast<std::size_t>(std::min<std::int64_t>(source.group_blocks(), source.blocks()));
  const std::size_t waiting = (2 * threads + groups) * blocks * reduction.waiting;
  return reduction.fixed + waiting + partials * reduction.partial + groups * source.group_bytes() +
         threads * (source.loader_bytes() + reduction.scratch) + (threads - 1) * kThreadBytes;
}

bool fits_all_threads(const Source& source, const ReductionBytes& reduction, const PassOptions& options) {
  PassPlan plan = widest_plan(source, options);
  plan.groups_in_flight = plan.threads;
  return options.memory == 0 || pass_bytes(source, reduction, plan) <= options.memory;
}

PassPlan plan_pass(const Source& source, const ReductionBytes& reduction, const PassOptions& options) {
  const PassPlan widest = widest_plan(source, options);
  if (options.memory == 0) return widest;
  for (int groups = widest.groups_in_flight; groups > 0; --groups) {
    const PassPlan plan{std::min(widest.threads, groups), groups, widest.ranked};
    if (pass_bytes(source, reduction, plan) <= options.memory) return plan;
  }
  const std::size_t needed = pass_bytes(source, reduction, {1, 1, widest.ranked});
  const std::size_t rows = source.group_bytes() + source.loader_bytes();
  const std::string sums =
      needed > rows ? fmt::format(" ({} of it for sums and scores)", human_bytes(static_cast<double>(needed - rows)))
                    : "";
  const bool mostly_rows = needed - rows < rows || *reduction.help == '\0';
  // Chunks make groups large; a block of rows takes what it takes.
  const bool chunks_help = needed - source.group_bytes() <= options.memory;
  const std::string help = !mostly_rows  ? reduction.help
                           : chunks_help ? "write the data with smaller chunks"
                                         : "data with fewer features";
  refuse_memory(needed, options.memory, "reading this data" + sums, help);
}

void require_pass_fits(const Source& source, const PassOptions& options, const char* help) {
  const std::size_t needed = pass_bytes(source, {}, {1, 1});
  if (options.memory > 0 && needed > options.memory) refuse_memory(needed, options.memory, "reading this data", help);
}

}  // namespace scrm
