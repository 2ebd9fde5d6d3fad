#include "scrm/engine/pass/balance_heuristic_source.hpp"

#include <algorithm>
#include <utility>

#include "policy/log_mixture.hpp"

namespace scrm {
namespace {

class BalanceHeuristicLoader final : public BlockLoader {
 public:
  explicit BalanceHeuristicLoader(std::unique_ptr<BlockLoader> loader) : inner(std::move(loader)) {}

  std::unique_ptr<BlockLoader> inner;
  PolicyScratch scratch, labels;
};

}  // namespace

BalanceHeuristicSource::BalanceHeuristicSource(Source& source,
                                               std::vector<std::shared_ptr<const TargetPolicy>> policies,
                                               std::vector<double> shares)
    : WrappedSource(source), schema_(source.schema()), policies_(std::move(policies)), shares_(std::move(shares)) {
  schema_.propensity = PropensityForm::logarithm;
}

std::size_t BalanceHeuristicSource::loader_bytes() const {
  const std::size_t labels = schema_.label_propensity ? 2 * static_cast<std::size_t>(schema_.num_actions) : 0;
  std::size_t scratch = (2 + labels) * kBlockRows * sizeof(double);
  for (const auto& policy : policies_) scratch += policy->scratch_bytes();
  return source_.loader_bytes() + scratch;
}

std::unique_ptr<BlockLoader> BalanceHeuristicSource::make_loader() const {
  return std::make_unique<BalanceHeuristicLoader>(source_.make_loader());
}

const double* BalanceHeuristicSource::label_mixture(const Block& block, PolicyScratch& scratch,
                                                    PolicyScratch& labels) const {
  const auto knows_labels = [](const auto& policy) { return policy->has_label_probability(); };
  if (!std::all_of(policies_.begin(), policies_.end(), knows_labels)) return block.label_propensity;
  const std::int64_t cells = static_cast<std::int64_t>(block.num_actions) * kBlockRows;
  double* one = labels.columns(PolicyScratch::kCallerSlot, 2 * static_cast<std::int64_t>(block.num_actions));
  double* mixture = one + cells;
  std::fill_n(mixture, cells, 0.0);
  for (std::size_t t = 0; t < policies_.size(); ++t) {
    policies_[t]->label_probability(block, scratch, one);
    for (std::int64_t at = 0; at < cells; ++at) mixture[at] += shares_[t] * one[at];
  }
  return mixture;
}

Block BalanceHeuristicSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& own = static_cast<BalanceHeuristicLoader&>(loader);
  Block block = source_.load(group, index, *own.inner, audit);
  double* mixture = own.scratch.columns(PolicyScratch::kCallerSlot, 2);
  log_mixture(block, policies_, shares_, own.scratch, mixture + kBlockRows, mixture);
  block.propensity = nullptr;
  block.log_propensity = mixture;
  if (block.label_propensity != nullptr) block.label_propensity = label_mixture(block, own.scratch, own.labels);
  return block;
}

}  // namespace scrm
