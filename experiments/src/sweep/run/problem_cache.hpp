/// ProblemCache: problems that runs of one environment and seed share, made once and let go when others are needed.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "scrm/experiments/problem.hpp"

namespace scrm {

class ProblemCache {
 public:
  /// Keeps this many problems that were used last, beside those in use.
  explicit ProblemCache(std::size_t keep) : keep_(keep) {}

  /// The problem of this factory, seed and options; those who ask for one that is being made wait for it.
  std::shared_ptr<const BanditProblem> get(const ProblemFactory& factory, std::uint64_t seed,
                                           const RunOptions& options);

 private:
  struct Slot {
    const ProblemFactory* factory;
    std::uint64_t seed;
    std::string options;
    std::mutex making;
    std::shared_ptr<const BanditProblem> problem;
  };

  /// Lets go of all problems that nobody uses but the keep_ that were used last. Needs the mutex.
  void drop_unused();

  std::size_t keep_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Slot>> slots_;  // the one used last comes first
};

}  // namespace scrm
