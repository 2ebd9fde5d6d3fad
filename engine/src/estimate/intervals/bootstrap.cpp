#include "estimate/intervals/bootstrap.hpp"

#include <cblas.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "schedule/arena.hpp"
#include "scrm/kernels/vector/poisson.hpp"

namespace scrm {
namespace {

// Replicates of a task and groups of a matrix product: fixed, so that results do not depend on threads. The counts of
// one product (64 × 512 doubles) fill half of a small L2.
constexpr int kTaskReplicates = 64;
constexpr int kTileGroups = 512;

}  // namespace

std::vector<std::vector<double>> bootstrap_replicates(const GroupTable& table, std::uint64_t seed, int count,
                                                      std::span<const EstimateColumn> columns, int threads,
                                                      const StopToken& stop) {
  std::vector<std::vector<double>> values(columns.size());
  for (std::vector<double>& column : values) column.resize(static_cast<std::size_t>(count));
  const int tasks = (count + kTaskReplicates - 1) / kTaskReplicates;
  const std::size_t row = table.layout.width();
  const int width = static_cast<int>(row);
  const auto run_task = [&](int task) {
    const int first = task * kTaskReplicates;
    const int replicates = std::min(kTaskReplicates, count - first);
    std::vector<double> counts(static_cast<std::size_t>(replicates) * kTileGroups);
    std::vector<double> totals(static_cast<std::size_t>(replicates) * row);
    for (std::int64_t g = 0; g < table.groups; g += kTileGroups) {
      const int tile = static_cast<int>(std::min<std::int64_t>(kTileGroups, table.groups - g));
      stop.check();
      for (int r = 0; r < replicates; ++r) {
        poisson_counts(seed, static_cast<std::uint32_t>(first + r), static_cast<std::uint64_t>(g), tile,
                       counts.data() + static_cast<std::size_t>(r) * kTileGroups);
      }
      // Totals of all policies at once: [replicates, groups] counts times [groups, sums].
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, replicates, width, tile, 1.0, counts.data(), kTileGroups,
                  table.sums.data() + static_cast<std::size_t>(g) * row, width, 1.0, totals.data(), width);
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(replicates); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        values[c][static_cast<std::size_t>(first) + r] = table.layout.value(totals.data() + r * row, columns[c]);
      }
    }
  };
  in_arena(threads, [&] { tbb::parallel_for(0, tasks, run_task); });
  return values;
}

std::size_t bootstrap_column_bytes(int count) {
  return static_cast<std::size_t>(count) * sizeof(double);
}

std::size_t bootstrap_thread_bytes(const GroupLayout& layout) {
  return kTaskReplicates * (kTileGroups + layout.width()) * sizeof(double);
}

}  // namespace scrm
