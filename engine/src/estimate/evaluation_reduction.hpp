/// The reduction of `evaluate`: what a pass adds up for every policy while a block is in cache.
#pragma once

#include <memory>
#include <vector>

#include "estimate/intervals/bootstrap.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/kernels/difference_sums.hpp"

namespace scrm {

/// The losses once, the weights of every policy, the extra terms of estimators, and what each policy has more or less
/// than the baseline.
struct EvaluationSums {
  Moments loss;
  std::vector<WeightSums> weights;
  std::vector<AdditiveSums> additive;
  std::vector<Moments> given;  ///< [policies, transforms]
  // Empty without a baseline.
  std::vector<DifferenceSums> difference;
  std::vector<AdditiveSums> additive_difference;
  std::vector<Moments> given_difference;  ///< [policies, transforms]
};

class EvaluationReduction final : public SizedReduction {
 public:
  struct Sums final : Partial {
    EvaluationSums sums;
  };

  EvaluationReduction(const std::vector<NamedPolicy>& policies, const WeightOptions& rules, const ExtraTerms& extra,
                      const Baseline& baseline, int num_actions, Bootstrap* bootstrap);

  bool reads_context_by_row() const override;
  ReductionBytes bytes() const override;
  std::unique_ptr<Partial> make() const override;
  void compute(const Block& block, Partial& out) const override;
  void merge(Partial& earlier, const Partial& later) const override;

 private:
  /// The baseline's columns of a block, where it is a policy.
  struct BaselineColumns;

  void add_policy(const Block& block, std::size_t p, double* weights, BaselineColumns& base, PolicyScratch& scratch,
                  EvaluationSums& sums) const;
  void add_given_terms(const Block& block, std::size_t p, std::size_t g, const double* weights,
                       const BaselineColumns& base, EvaluationSums& sums) const;
  void add_additive_difference(const Block& block, std::size_t p, const double* excess, const BaselineColumns& base,
                               EvaluationSums& sums) const;
  bool has_labels(std::size_t p) const;

  const std::vector<NamedPolicy>& policies_;
  WeightOptions rules_;
  const ExtraTerms& extra_;
  Baseline baseline_;
  std::vector<std::size_t> order_;  // of policies in a block: the baseline first
  int num_actions_;
  Bootstrap* bootstrap_;
  mutable Pool<PolicyScratch> scratch_;
};

}  // namespace scrm
