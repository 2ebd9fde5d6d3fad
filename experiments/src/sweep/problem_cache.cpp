#include "sweep/problem_cache.hpp"

#include <algorithm>

namespace scrm {

std::shared_ptr<const BanditProblem> ProblemCache::get(const ProblemFactory& factory, std::uint64_t seed,
                                                       const RunOptions& options) {
  const std::string text = describe(options);
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const std::shared_ptr<Slot>& s) {
      return s->factory == &factory && s->seed == seed && s->options == text;
    });
    if (found != slots_.end()) {
      slots_.splice(slots_.begin(), slots_, found);
    } else {
      slots_.push_front(std::make_shared<Slot>());
      slots_.front()->factory = &factory;
      slots_.front()->seed = seed;
      slots_.front()->options = text;
    }
    slot = slots_.front();
    while (slots_.size() > keep_) slots_.pop_back();
  }
  const std::lock_guard lock(slot->making);
  if (!slot->problem) slot->problem = factory.make(seed, options);
  return slot->problem;
}

}  // namespace scrm
