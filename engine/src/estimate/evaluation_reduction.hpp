/// The reduction of `evaluate`: what a pass adds up for every policy while a block is in cache.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "estimate/groups/cluster_groups.hpp"
#include "estimate/groups/row_groups.hpp"
#include "estimate/intervals/sequence.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/kernels/weights/difference_sums.hpp"

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
  // On their way to the groups: empty as soon as the blocks' turn has come. Those of clusters, which are added up in
  // the order of all rows, wait for the end of the pass where ranks share them.
  std::vector<BlockSums> blocks;
  ClusterEntries clusters;
  // w (y − centre), and (w − u) (y − centre) with a baseline; empty unless they are asked for.
  std::vector<EpochMoments> epochs, epoch_differences;
  std::vector<SmoothedTerms> smoothed;  ///< [policies, λ]; empty unless they are asked for
  // Empty without a model.
  std::vector<ModelSums> model;
  std::vector<Moments> tuned;  ///< [policies, estimators, scales]
  std::vector<ModelDifference> model_difference;

  void transfer(ByteStream& bytes);
};

/// What a pass fills beside its sums, each null or empty where it is not wanted.
struct EvaluationExtras {
  RowGroups* rows = nullptr;
  ClusterGroups* clusters = nullptr;
  std::optional<double> sequence_centre;  ///< for EvaluationSums::epochs
  std::vector<SmoothedTerms> smoothed;    ///< of one policy, without rows; empty where they are not wanted
  const OutcomeModel* model = nullptr;    ///< with ExtraTerms::model
  bool ranked = false;                    ///< several ranks share the rows: EvaluationSums::clusters keeps its entries
};

class EvaluationReduction final : public SizedReduction {
 public:
  struct Sums final : Partial {
    EvaluationSums sums;
  };

  EvaluationReduction(const std::vector<NamedPolicy>& policies, const WeightOptions& rules, const ExtraTerms& extra,
                      const Baseline& baseline, const Source& source, const EvaluationExtras& extras);

  bool reads_context_by_row() const override;
  ReductionBytes bytes() const override;
  std::unique_ptr<Partial> make() const override;
  void compute(const Block& block, Partial& out) const override;
  void merge(Partial& earlier, const Partial& later) const override;
  void visit_in_order(Partial& part) const override;
  void transfer(Partial& sums, ByteStream& bytes) const override;
  void transfer_kept(BlockRange blocks, ByteStream& bytes) const override;

 private:
  /// The baseline's columns of a block, where it is a policy.
  struct BaselineColumns;

  void add_policy(const Block& block, std::size_t p, double* weights, BaselineColumns& base, PolicyScratch& scratch,
                  ModelColumnsOfBlock& columns, EvaluationSums& sums) const;
  void add_given_terms(const Block& block, std::size_t p, std::size_t g, const double* weights,
                       const BaselineColumns& base, EvaluationSums& sums) const;
  void add_additive_difference(const Block& block, std::size_t p, const double* excess, const BaselineColumns& base,
                               EvaluationSums& sums) const;
  void add_epochs(const Block& block, std::size_t p, const double* weights, const BaselineColumns& base,
                  EvaluationSums& sums) const;
  void add_smoothed(const Block& block, std::size_t p, const double* weights, EvaluationSums& sums) const;
  /// `columns` has the residuals already; `excess` is the additive estimator's S or null.
  void add_model(const Block& block, std::size_t p, const double* weights, const double* excess, BaselineColumns& base,
                 PolicyScratch& scratch, ModelColumnsOfBlock& columns, EvaluationSums& sums) const;
  void add_tuned_terms(const Block& block, std::size_t p, const double* weights, const ModelColumnsOfBlock& columns,
                       EvaluationSums& sums) const;
  /// Adds a column of terms to the groups, unless those are whole blocks.
  void add_group_terms(const Block& block, std::size_t p, std::size_t at, const double* terms,
                       EvaluationSums& sums) const;
  void add_groups(const Block& block, std::size_t p, const double* weights, const double* excess,
                  EvaluationSums& sums) const;
  /// The sums of the block for groups of whole blocks, once those of all policies are there.
  void add_block_sums(const Block& block, EvaluationSums& sums) const;
  bool has_labels(std::size_t p) const;
  bool has_model(std::size_t p) const { return model_applies_[p]; }

  const std::vector<NamedPolicy>& policies_;
  WeightOptions rules_;
  const ExtraTerms& extra_;
  Baseline baseline_;
  std::vector<std::size_t> order_;  // of policies in a block: the baseline first
  int num_actions_;
  std::int64_t blocks_;  // of the source
  EvaluationExtras extras_;
  GroupLayout layout_;
  std::vector<bool> model_applies_;  // to each policy
  mutable Pool<PolicyScratch> scratch_;
};

}  // namespace scrm
