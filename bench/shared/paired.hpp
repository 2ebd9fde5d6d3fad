/// Two sides of a comparison measured in turns in one process, so that both meet the same machine.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

namespace scrm::bench {

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Wall-clock seconds, and the processor seconds of all threads.
struct Seconds {
  double wall = 0;
  double cpu = 0;
};

inline Seconds now() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
}

template <class Work>
Seconds seconds(Work&& work) {
  const Seconds start = now();
  work();
  const Seconds end = now();
  return {end.wall - start.wall, end.cpu - start.cpu};
}

/// Runs `reference` and `subject` one after the other in every iteration. Counters: the median seconds of each, and
/// `ratio`, the median of reference seconds over subject seconds; `cpu_ratio` is the same of processor seconds, which a
/// busy machine disturbs less. The benchmark's own time is the subject's.
template <class Reference, class Subject>
void measure_pair(benchmark::State& state, Reference&& reference, Subject&& subject) {
  std::vector<double> references, subjects, ratios, cpu_ratios;
  for (auto _ : state) {
    const Seconds before = seconds(reference);
    const Seconds after = seconds(subject);
    references.push_back(before.wall);
    subjects.push_back(after.wall);
    ratios.push_back(before.wall / after.wall);
    cpu_ratios.push_back(before.cpu / after.cpu);
    state.SetIterationTime(after.wall);
  }
  state.counters["reference_s"] = median(references);
  state.counters["subject_s"] = median(subjects);
  state.counters["ratio"] = median(ratios);
  state.counters["cpu_ratio"] = median(cpu_ratios);
}

}  // namespace scrm::bench
