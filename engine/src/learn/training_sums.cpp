#include "learn/training_sums.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace scrm {
namespace {

struct LossesAndActions {
  Moments loss;
  std::vector<std::int64_t> action_counts;

  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, loss);
    scrm::transfer(bytes, action_counts);
  }
};

}  // namespace

TrainingSums training_sums(Source& source, const RowMask* rows, bool count_actions, const PassOptions& pass) {
  const auto compute = [rows](const Block& block, LossesAndActions& out) {
    std::array<std::uint8_t, kBlockRows> keep;
    if (rows != nullptr) rows->expand(block.first_row, kBlockRows, keep.data());
    std::array<double, kBlockRows> losses;
    std::size_t count = 0;
    std::fill(out.action_counts.begin(), out.action_counts.end(), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
      if (rows != nullptr && keep[i] == 0) continue;
      losses[count++] = block.loss[i];
      if (!out.action_counts.empty()) ++out.action_counts[static_cast<std::size_t>(block.category[i])];
    }
    // Divided before they are added up: losses may be as large as doubles are.
    double mean = 0;
    for (std::size_t i = 0; i < count; ++i) mean += losses[i] / static_cast<double>(count);
    out.loss = moments_around(mean, losses.data(), static_cast<std::int64_t>(count));
  };
  const auto merge = [](LossesAndActions& a, const LossesAndActions& b) {
    a.loss.merge(b.loss);
    for (std::size_t k = 0; k < a.action_counts.size(); ++k) a.action_counts[k] += b.action_counts[k];
  };
  const auto actions = static_cast<std::size_t>(count_actions ? source.schema().num_actions : 0);
  auto [sums, audit] = run_pass(source, LossesAndActions{{}, std::vector<std::int64_t>(actions)}, compute, merge, pass);
  return {sums.loss, std::move(sums.action_counts), std::move(audit)};
}

}  // namespace scrm
