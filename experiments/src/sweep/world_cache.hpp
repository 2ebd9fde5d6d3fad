/// WorldCache: worlds that runs of one environment and seed share, made once and let go when others are needed.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "scrm/experiments/world.hpp"

namespace scrm {

class WorldCache {
 public:
  /// Keeps this many worlds that were used last, beside those in use.
  explicit WorldCache(std::size_t keep) : keep_(keep) {}

  /// The world of this setting, seed and options; those who ask for one that is being made wait for it.
  std::shared_ptr<const World> get(const Setting& setting, std::uint64_t seed, const RunOptions& options);

 private:
  struct Slot {
    const Setting* setting;
    std::uint64_t seed;
    std::string options;
    std::mutex making;
    std::shared_ptr<const World> world;
  };

  std::size_t keep_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Slot>> slots_;  // the one used last comes first
};

}  // namespace scrm
