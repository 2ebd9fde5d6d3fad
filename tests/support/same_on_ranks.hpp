/// What tests of ranks share: the same work without ranks and on several numbers of them, and reports as text to the
/// bit.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "support/thread_ranks.hpp"

namespace scrm::testing {

/// Runs work(pass) without ranks and with each number of them, and wants the same text everywhere.
inline void check_same_on_ranks(const std::vector<int>& sizes,
                                const std::function<std::string(const PassOptions&)>& work) {
  PassOptions options;
  options.threads = 1;
  const std::string alone = work(options);
  for (const int size : sizes) {
    CAPTURE(size);
    std::mutex mutex;
    std::vector<std::string> found;
    const std::size_t unread = on_ranks(size, [&](Ranks& ranks) {
      PassOptions pass = options;
      pass.ranks = &ranks;
      const std::string text = work(pass);
      const std::lock_guard lock(mutex);
      found.push_back(text);
    });
    CHECK(unread == 0);
    for (const std::string& text : found) CHECK(text == alone);
  }
}

inline std::string bits_of(double value) {
  return std::to_string(std::bit_cast<std::uint64_t>(value)) + " ";
}

inline std::string bits_of(const Moments& moments) {
  return bits_of(moments.count) + bits_of(moments.mean) + bits_of(moments.square_sum);
}

inline std::string bits_of(const std::vector<Estimate>& estimates) {
  std::string text;
  for (const Estimate& one : estimates) {
    text += one.estimator + " ";
    for (const std::optional<double>& number :
         {one.value, one.standard_error, one.low, one.high, one.parameter, one.confidence})
      text += number ? bits_of(*number) : "none ";
    text += "\n";
  }
  return text;
}

inline std::string bits_of(const EvaluationReport& report) {
  std::string text = std::to_string(report.rows) + " " + bits_of(report.loss) + bits_of(report.loss_error.value_or(-1));
  for (const PolicyReport& policy : report.policies) {
    text += policy.name + "\n" + bits_of(policy.estimates);
    if (policy.difference)
      text += "minus " + policy.difference->baseline + "\n" + bits_of(policy.difference->estimates);
    const Diagnostics& found = policy.diagnostics;
    for (const std::optional<double>& number :
         {found.mean_weight, found.mean_weight_z, found.ess, found.max_weight, found.max_weight_share})
      text += number ? bits_of(*number) : "none ";
    for (const std::string& warning : found.warnings) text += warning + "\n";
  }
  return text;
}

}  // namespace scrm::testing
