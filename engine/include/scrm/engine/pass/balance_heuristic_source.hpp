/// BalanceHeuristicSource: logged rows whose propensity is that of all deployments together.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/pass/wrapped_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// The balance heuristic: every row's propensity becomes Σ_t (n_t/n) π_t(a|x), whatever policy logged it. So does,
/// where the data has them and all policies know theirs, the propensity of each label by itself. Bits that are
/// independent under every policy are not under their mixture, since one bit tells who acted and so what other bits are
/// likely: what is estimated label by label is biased then, the more the further apart the policies are
/// (label_mixture_test.cpp).
class BalanceHeuristicSource final : public WrappedSource {
 public:
  /// `shares` are n_t/n, in the order of the policies.
  BalanceHeuristicSource(Source& source, std::vector<std::shared_ptr<const TargetPolicy>> policies,
                         std::vector<double> shares);

  const Schema& schema() const override { return schema_; }
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  const double* label_mixture(const Block& block, PolicyScratch& scratch, PolicyScratch& labels) const;

  Schema schema_;
  std::vector<std::shared_ptr<const TargetPolicy>> policies_;
  std::vector<double> shares_;
};

}  // namespace scrm
