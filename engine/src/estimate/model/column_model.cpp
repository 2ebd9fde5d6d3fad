#include <fmt/format.h>

#include <algorithm>

#include "scrm/engine/estimate/outcome_model.hpp"

namespace scrm {
namespace {

class ColumnModel final : public OutcomeModel {
 public:
  explicit ColumnModel(const Schema& schema) : columns_(*schema.model), targets_(schema.targets) {}

  std::string name() const override { return columns_.name; }

  std::string inapplicable_reason(const TargetPolicy& policy) const override {
    const std::optional<int> target = policy.target_column();
    if (!target)
      return fmt::format("the model '{}' is an outside one, with expectations for outside policies (--target) alone",
                         columns_.name);
    if (columns_.targets[static_cast<std::size_t>(*target)]) return {};
    return fmt::format("the data has no model/{}/target/{}", columns_.name,
                       targets_[static_cast<std::size_t>(*target)]);
  }

  void logged(const Block& block, PolicyScratch&, double* out) const override {
    std::copy_n(block.model_logged, kBlockRows, out);
  }

  void expectation(const Block& block, const TargetPolicy& policy, PolicyScratch&, double* out) const override {
    std::copy_n(block.model_targets[*policy.target_column()], kBlockRows, out);
  }

  bool reads_context_by_row() const override { return true; }

 private:
  ModelColumns columns_;
  std::vector<std::string> targets_;
};

}  // namespace

std::unique_ptr<OutcomeModel> make_column_model(const Schema& schema) {
  return std::make_unique<ColumnModel>(schema);
}

}  // namespace scrm
