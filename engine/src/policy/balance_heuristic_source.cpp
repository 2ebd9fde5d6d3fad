#include "scrm/engine/pass/balance_heuristic_source.hpp"

#include <utility>

#include "policy/log_mixture.hpp"

namespace scrm {
namespace {

class BalanceHeuristicLoader final : public BlockLoader {
 public:
  explicit BalanceHeuristicLoader(std::unique_ptr<BlockLoader> loader) : inner(std::move(loader)) {}

  std::unique_ptr<BlockLoader> inner;
  PolicyScratch scratch;
};

}  // namespace

BalanceHeuristicSource::BalanceHeuristicSource(Source& source,
                                               std::vector<std::shared_ptr<const TargetPolicy>> policies,
                                               std::vector<double> shares)
    : source_(source), schema_(source.schema()), policies_(std::move(policies)), shares_(std::move(shares)) {
  schema_.propensity = PropensityForm::logarithm;
}

std::size_t BalanceHeuristicSource::loader_bytes() const {
  std::size_t scratch = 2 * kBlockRows * sizeof(double);
  for (const auto& policy : policies_) scratch += policy->scratch_bytes();
  return source_.loader_bytes() + scratch;
}

std::unique_ptr<BlockLoader> BalanceHeuristicSource::make_loader() const {
  return std::make_unique<BalanceHeuristicLoader>(source_.make_loader());
}

Block BalanceHeuristicSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& own = static_cast<BalanceHeuristicLoader&>(loader);
  Block block = source_.load(group, index, *own.inner, audit);
  double* mixture = own.scratch.columns(PolicyScratch::kCallerSlot, 2);
  log_mixture(block, policies_, shares_, own.scratch, mixture + kBlockRows, mixture);
  block.propensity = nullptr;
  block.log_propensity = mixture;
  return block;
}

}  // namespace scrm
