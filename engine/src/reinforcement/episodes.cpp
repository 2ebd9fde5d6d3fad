#include "scrm/engine/reinforcement/episodes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "scrm/engine/pass/dense_contexts.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// A spread below this share of the mean is rounding.
constexpr double kLeastSpread = 1e-10;
// Numbers of a row beside its context and its action: its reward, advantage, log-probability and place in the order,
// and copies of scores for each number of its action or each category.
constexpr std::int64_t kRowNumbers = 6;

void append_actions(const Block& block, std::vector<double>& out) {
  for (int i = 0; i < block.rows; ++i) {
    switch (block.action_kind) {
      case ActionKind::continuous:
        out.push_back(block.action[i]);
        break;
      case ActionKind::categorical:
        out.push_back(block.category[i]);
        break;
      case ActionKind::multilabel:
        for (std::int64_t k = 0; k < block.num_actions; ++k) out.push_back(block.bits[k * kBlockRows + i] != 0 ? 1 : 0);
        break;
    }
  }
}

/// Of the numbers first, first + stride, …
ColumnUnit unit_of(const std::vector<double>& numbers, std::int64_t first, std::int64_t stride, const char* what) {
  const auto count = static_cast<std::int64_t>(numbers.size()) / stride;
  const auto at = [&](std::int64_t i) { return numbers[static_cast<std::size_t>(first + i * stride)]; };
  if (count == 0) return {};
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += at(i);
  const double mean = sum / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) squares += (at(i) - mean) * (at(i) - mean);
  const double spread = std::sqrt(squares / static_cast<double>(count));
  if (!std::isfinite(spread)) {
    throw Error(ErrorKind::data,
                fmt::format("{} of the first batch are too large to be squared; state them in another unit", what));
  }
  return {mean, spread > kLeastSpread * std::abs(mean) ? spread : 1.0};
}

void standardize(const ColumnUnit& unit, std::vector<double>& numbers, std::int64_t first, std::int64_t stride) {
  for (auto i = static_cast<std::size_t>(first); i < numbers.size(); i += static_cast<std::size_t>(stride)) {
    numbers[i] = (numbers[i] - unit.centre) / unit.spread;
  }
}

}  // namespace

Episodes read_episodes(Source& rows) {
  const Schema& schema = rows.schema();
  Episodes out;
  out.action_kind = schema.action_kind;
  out.width = 1 + schema.features;
  out.action_width = schema.action_kind == ActionKind::multilabel ? schema.num_actions : 1;
  out.replays = schema.replays;
  const auto n = static_cast<std::size_t>(rows.rows());
  out.contexts.reserve(n / static_cast<std::size_t>(out.replays) * static_cast<std::size_t>(out.width));
  out.actions.reserve(n * static_cast<std::size_t>(out.action_width));
  out.rewards.reserve(n);
  const std::unique_ptr<BlockLoader> loader = rows.make_loader();
  Audit audit;
  std::vector<double> contexts;
  for (std::int64_t b = 0; b < rows.blocks(); ++b) {
    const std::unique_ptr<BlockGroup> group = rows.fetch(b, 1);
    const Block block = rows.load(*group, b, *loader, audit);
    contexts.clear();
    append_dense_contexts(block, contexts);
    for (int i = 0; i < context_rows(block); ++i) {
      out.contexts.push_back(1);
      const auto context = contexts.begin() + i * block.features;
      out.contexts.insert(out.contexts.end(), context, context + block.features);
    }
    append_actions(block, out.actions);
    for (int i = 0; i < block.rows; ++i) out.rewards.push_back(-block.loss[i]);
  }
  return out;
}

EpisodeUnits units_of(const Episodes& episodes) {
  EpisodeUnits units;
  for (std::int64_t j = 1; j < episodes.width; ++j) {
    units.features.push_back(unit_of(episodes.contexts, j, episodes.width, "features"));
  }
  if (episodes.action_kind == ActionKind::continuous) units.action = unit_of(episodes.actions, 0, 1, "actions");
  units.reward = unit_of(episodes.rewards, 0, 1, "losses");
  return units;
}

void standardize(const EpisodeUnits& units, Episodes& episodes) {
  for (std::int64_t j = 1; j < episodes.width; ++j) {
    standardize(units.features[static_cast<std::size_t>(j - 1)], episodes.contexts, j, episodes.width);
  }
  if (episodes.action_kind == ActionKind::continuous) standardize(units.action, episodes.actions, 0, 1);
  standardize(units.reward, episodes.rewards, 0, 1);
}

std::size_t episode_bytes(const Schema& schema, std::int64_t rows) {
  const std::int64_t outputs = schema.action_kind == ActionKind::continuous ? 1 : schema.num_actions;
  const std::int64_t contexts = rows / schema.replays;
  // Scores of all rows: those of the old policy, of the new one, and their gradient.
  const std::int64_t numbers = contexts * (1 + schema.features) + rows * (kRowNumbers + 4 * outputs);
  return static_cast<std::size_t>(numbers) * sizeof(double);
}

}  // namespace scrm
