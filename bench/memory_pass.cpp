/// The pass over rows that the engine holds itself, for other processes to compare with: bench/python_arrays.py.
///
/// usage: memory_pass SHARDS POLICY THREADS
/// Reads all rows into memory and says "ready"; then, for each line of its standard input, evaluates once and prints
/// the seconds it took and the value of every estimator.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

void answer_lines(const char* shards, const char* policy_path, int threads) {
  PassOptions pass;
  pass.threads = threads;
  ShardSource files(Dataset({shards}, {}));
  MemorySource source(files, pass, false);
  const std::vector<NamedPolicy> policies = {
      {"p", make_target_policy(read_policy(policy_path), source.schema(), policy_path)}};
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    EvaluationReport report;
    const Seconds taken = seconds([&] { report = evaluate(source, policies, {}, pass); });
    fmt::print("{}", taken.wall);
    for (const auto& estimate : report.policies[0].estimates)
      fmt::print(" {}={}", estimate.estimator, estimate.value.value());
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace scrm::bench

int main(int count, char** arguments) {
  if (count != 4) {
    fmt::print(stderr, "usage: memory_pass SHARDS POLICY THREADS\n");
    return 2;
  }
  try {
    scrm::bench::answer_lines(arguments[1], arguments[2], std::atoi(arguments[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "memory_pass: {}\n", error.what());
    return 1;
  }
  return 0;
}
