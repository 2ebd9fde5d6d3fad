/// What a sweep shows while it runs: runs done, rows a second, time left, and the best so far.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "scrm/experiments/sweep.hpp"

namespace scrm {

/// Redraws one line on stderr, at most ten times a second; draws nothing when stderr is no terminal.
class SweepProgress {
 public:
  explicit SweepProgress(bool quiet);
  ~SweepProgress();
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void update(const SweepState& state);

 private:
  void update_best(const RunRecord& run);
  std::string line(const SweepState& state, double seconds) const;

  bool shown_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_ = begin_;
  // Mean over the seeds so far of every λ, and the best of these means, by environment and method.
  std::map<std::string, std::map<double, std::pair<double, int>>> sums_;
  std::string best_;
};

}  // namespace scrm
