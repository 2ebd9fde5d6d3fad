#include "reinforcement/minibatches.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "scrm/kernels/vector/shuffle.hpp"

namespace scrm {
namespace {

// A stream of the seed, next to those of rows.
constexpr std::uint32_t kMinibatchStream = 0x9909A7C;

}  // namespace

Minibatches::Minibatches(const Episodes& episodes, int size)
    : episodes_(episodes), size_(std::min<std::int64_t>(size, episodes.rows())) {
  const auto rows = static_cast<std::size_t>(size_);
  order_.resize(static_cast<std::size_t>(episodes.rows()));
  contexts_.resize(rows * static_cast<std::size_t>(episodes.width));
  actions_.resize(rows * static_cast<std::size_t>(episodes.action_width));
  for (std::vector<double>* column : {&rewards_, &old_log_probability_, &advantages_}) column->resize(rows);
}

void Minibatches::shuffle(const UpdateKey& key, int epoch) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto place = static_cast<std::uint64_t>(key.rollout) << 32 | static_cast<std::uint32_t>(epoch);
  RandomStream random(key.seed, kMinibatchStream, place);
  scrm::shuffle(std::span(order_), random);
  first_ = count_ = 0;
}

bool Minibatches::next(Minibatch& out) {
  first_ += count_;
  count_ = std::min(size_, episodes_.rows() - first_);
  if (count_ == 0) return false;
  const std::int64_t width = episodes_.width, numbers = episodes_.action_width;
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::int64_t row = order_[static_cast<std::size_t>(first_ + i)];
    std::copy_n(episodes_.contexts.begin() + row / episodes_.replays * width, width, contexts_.begin() + i * width);
    for (std::int64_t k = 0; k < numbers; ++k) {
      actions_[static_cast<std::size_t>(k * count_ + i)] =
          episodes_.actions[static_cast<std::size_t>(row * numbers + k)];
    }
    rewards_[static_cast<std::size_t>(i)] = episodes_.rewards[static_cast<std::size_t>(row)];
  }
  out = {{contexts_.data(), count_, width}, actions_.data(), rewards_.data()};
  return true;
}

bool Minibatches::next(const std::vector<double>& old_log_probability, const std::vector<double>& advantages,
                       bool normalized, Minibatch& out) {
  if (!next(out)) return false;
  for (std::int64_t i = 0; i < count_; ++i) {
    const auto row = static_cast<std::size_t>(order_[static_cast<std::size_t>(first_ + i)]);
    old_log_probability_[static_cast<std::size_t>(i)] = old_log_probability[row];
    advantages_[static_cast<std::size_t>(i)] = advantages[row];
  }
  if (normalized) normalize(std::span(advantages_).first(static_cast<std::size_t>(count_)));
  out.old_log_probability = old_log_probability_.data();
  out.advantages = advantages_.data();
  return true;
}

}  // namespace scrm
