/// Rows of a simulated source gathered into plain vectors, for tests to look at.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "scrm/experiments/simulated_source.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm_test {

struct Rows {
  std::vector<std::vector<double>> context;  ///< by column; empty for sparse contexts
  std::vector<double> action;                ///< continuous actions or categories
  std::vector<std::vector<int>> bits;        ///< by label
  std::vector<double> loss;
  std::vector<double> propensity;  ///< or its logarithm, whichever the schema has
  std::vector<double> weight;      ///< of the logging policy itself
};

inline std::shared_ptr<const scrm::Environment> environment(const std::string& name, std::uint64_t seed = 0,
                                                            int actions = 0) {
  return scrm::make_environment(name, {seed, actions});
}

inline void append(const scrm::Block& block, Rows& rows) {
  rows.context.resize(block.sparse.indptr == nullptr ? static_cast<std::size_t>(block.features) : 0);
  rows.bits.resize(block.bits == nullptr ? 0 : static_cast<std::size_t>(block.num_actions));
  for (int i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < rows.context.size(); ++j) {
      const std::size_t at = j * scrm::kBlockRows + static_cast<std::size_t>(i);
      rows.context[j].push_back(block.context_type == scrm::FloatType::f32
                                    ? static_cast<double>(static_cast<const float*>(block.context)[at])
                                    : static_cast<const double*>(block.context)[at]);
    }
    for (std::size_t k = 0; k < rows.bits.size(); ++k) {
      rows.bits[k].push_back(block.bits[k * scrm::kBlockRows + static_cast<std::size_t>(i)]);
    }
    if (block.action != nullptr) rows.action.push_back(block.action[i]);
    if (block.category != nullptr) rows.action.push_back(block.category[i]);
    rows.loss.push_back(block.loss[i]);
    rows.propensity.push_back(block.propensity != nullptr ? block.propensity[i] : block.log_propensity[i]);
  }
}

/// Blocks [first, last) of the source.
inline Rows gather(scrm::SimulatedSource& source, const scrm::Policy& policy, std::int64_t first, std::int64_t last) {
  Rows rows;
  const auto loader = source.make_loader();
  const auto target = scrm::make_target_policy(policy, source.schema(), "policy");
  scrm::PolicyScratch scratch;
  scrm::PolicyScratch output;
  scrm::Audit audit;
  for (std::int64_t b = first; b < last; ++b) {
    const auto group = source.fetch(b, 1);
    const scrm::Block block = source.load(*group, b, *loader, audit);
    append(block, rows);
    double* weights = output.columns(0, 1);
    target->weights(block, scratch, weights);
    rows.weight.insert(rows.weight.end(), weights, weights + block.rows);
  }
  return rows;
}

/// All rows that the policy logs; the environment's first policy when none is given.
inline Rows simulate(const std::shared_ptr<const scrm::Environment>& environment, const scrm::SimulateOptions& options,
                     const scrm::Policy* policy = nullptr) {
  const scrm::Policy logging = policy != nullptr ? *policy : scrm::first_policy(*environment, options);
  scrm::SimulatedSource source(environment, logging, "policy", options);
  return gather(source, logging, 0, source.blocks());
}

inline scrm::Moments moments(const std::vector<double>& values) {
  scrm::Moments moments;
  for (const double value : values) moments.merge(scrm::Moments::of(value));
  return moments;
}

inline double standard_error(const scrm::Moments& moments) {
  return moments.standard_deviation() / std::sqrt(moments.count);
}

}  // namespace scrm_test
