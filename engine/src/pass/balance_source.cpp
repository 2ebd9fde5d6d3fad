#include "scrm/engine/balance_source.hpp"

#include <utility>

#include "policy/log_mixture.hpp"

namespace scrm {
namespace {

class BalanceLoader final : public BlockLoader {
 public:
  explicit BalanceLoader(std::unique_ptr<BlockLoader> loader) : below(std::move(loader)) {}

  std::unique_ptr<BlockLoader> below;
  PolicyScratch scratch;
};

}  // namespace

BalanceSource::BalanceSource(Source& source, std::vector<std::shared_ptr<const TargetPolicy>> policies,
                             std::vector<double> shares)
    : source_(source), schema_(source.schema()), policies_(std::move(policies)), shares_(std::move(shares)) {
  schema_.propensity = PropensityForm::logarithm;
}

std::size_t BalanceSource::loader_bytes() const {
  std::size_t scratch = 2 * kBlockRows * sizeof(double);
  for (const auto& policy : policies_) scratch += policy->scratch_bytes();
  return source_.loader_bytes() + scratch;
}

std::unique_ptr<BlockLoader> BalanceSource::make_loader() const {
  return std::make_unique<BalanceLoader>(source_.make_loader());
}

Block BalanceSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& own = static_cast<BalanceLoader&>(loader);
  Block block = source_.load(group, index, *own.below, audit);
  double* mixture = own.scratch.columns(PolicyScratch::kCallerSlot, 2);
  log_mixture(block, policies_, shares_, own.scratch, mixture + kBlockRows, mixture);
  block.propensity = nullptr;
  block.log_propensity = mixture;
  return block;
}

}  // namespace scrm
