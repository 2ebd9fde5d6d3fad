#include "sweep/run/problem_cache.hpp"

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
    drop_unused();
  }
  const std::lock_guard lock(slot->making);
  if (!slot->problem) slot->problem = factory.make(seed, options);
  return slot->problem;
}

/// The first slot is the one that was just asked for.
void ProblemCache::drop_unused() {
  std::size_t unused = 0;
  for (auto place = std::next(slots_.begin()); place != slots_.end();) {
    const std::shared_ptr<Slot> slot = *place;
    bool used = slot.use_count() > 2;  // by someone who waits for it, beside the list and this function
    if (!used) {
      const std::lock_guard lock(slot->making);
      used = slot->problem.use_count() > 1;
    }
    place = used || ++unused <= keep_ ? std::next(place) : slots_.erase(place);
  }
}

}  // namespace scrm
