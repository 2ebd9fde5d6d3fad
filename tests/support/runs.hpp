/// Runs made up for tests, and what it means that two are the same to the bit.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "scrm/io/archive/run_record.hpp"

namespace scrm::testing {

/// Different for every index, with numbers that a careless copy would change and every field used by some index.
inline RunRecord made_up_run(int index) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  RunRecord run;
  run.environment = "pricing";
  run.method = index % 2 == 0 ? "scrm" : "größer";
  run.hyperparameter = index % 3 == 0 ? kNaN : std::pow(10.0, -index);
  run.lambda_rule = index % 3 == 0 ? "" : "given";
  run.seed = index - 1;
  run.identity = "0123abc" + std::to_string(index);
  run.ok = index % 4 != 3;
  run.message = run.ok ? "" : "the objective is not finite\nat rollout 2";
  run.final_loss = 0.1 + index;
  run.seconds = 1e-300 * index;
  for (int m = 0; m < index % 5; ++m) {
    run.loss.push_back(-1.0 / (m + 3 + index));
    run.rows.push_back((std::int64_t{1} << 53) + 1 + m);
    // A NaN with a sign and a payload of its own.
    run.regret.push_back(m == 1 ? std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'0123}) : -0.0);
  }
  for (int j = 0; j < 7 * (index % 4); ++j) run.theta.push_back(std::nextafter(1.0, 2.0) * j);
  run.numbers["l2"] = 1.0 / 3;
  if (index % 2 == 1) run.numbers["ess"] = kNaN;
  if (!run.loss.empty() && index % 2 == 0) run.curves["lambda"] = run.loss;
  return run;
}

inline std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (bits(a[i]) != bits(b[i])) return false;
  return true;
}

inline bool same_run(const RunRecord& a, const RunRecord& b) {
  if (a.environment != b.environment || a.method != b.method || a.lambda_rule != b.lambda_rule || a.seed != b.seed ||
      a.identity != b.identity || a.ok != b.ok || a.message != b.message || a.rows != b.rows)
    return false;
  if (bits(a.hyperparameter) != bits(b.hyperparameter) || bits(a.final_loss) != bits(b.final_loss) ||
      bits(a.seconds) != bits(b.seconds))
    return false;
  if (!same_bits(a.loss, b.loss) || !same_bits(a.regret, b.regret) || !same_bits(a.theta, b.theta)) return false;
  if (a.numbers.size() != b.numbers.size() || a.curves.size() != b.curves.size()) return false;
  for (const auto& [name, value] : a.numbers)
    if (!b.numbers.contains(name) || bits(b.numbers.at(name)) != bits(value)) return false;
  for (const auto& [name, curve] : a.curves)
    if (!b.curves.contains(name) || !same_bits(b.curves.at(name), curve)) return false;
  return true;
}

}  // namespace scrm::testing
