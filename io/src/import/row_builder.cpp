#include "import/row_builder.hpp"

#include <cmath>
#include <limits>

namespace scrm {

RowBuilder::RowBuilder(const Schema& schema)
    : buffer_(schema), features_(static_cast<std::size_t>(schema.features)), context_(context_rule("context")) {
  const ActionKind kind = schema.action_kind;
  if (schema.context_type == FloatType::f32) {
    constexpr double kWidest = std::numeric_limits<float>::max();
    context_.range = {-kWidest, kWidest};
  }
  if (schema.stage == RowStage::logged) {
    const auto labels = static_cast<std::size_t>(schema.num_actions);
    add_rules(kind == ActionKind::multilabel ? labels : 1, action_rule(kind, schema.num_actions),
              kind != ActionKind::continuous);
    add_rules(1, loss_rule());
    if (schema.propensity == PropensityForm::logarithm) add_rules(1, log_propensity_rule(kind));
    if (schema.propensity == PropensityForm::linear) add_rules(1, propensity_rule(kind, "propensity"));
    if (schema.label_propensity) add_rules(labels, propensity_rule(kind, "label_propensity"));
    for (const std::string& target : schema.targets) add_rules(1, target_rule(kind, target));
  }
  values_.resize(features_ + rules_.size());
}

void RowBuilder::add_rules(std::size_t count, const AuditRule& rule, bool whole) {
  for (std::size_t i = 0; i < count; ++i) rules_.push_back({rule, whole});
}

std::optional<RowBuilder::Violation> RowBuilder::audit() const noexcept {
  std::optional<Violation> gravest;
  const auto found = [&](BadRowReason reason, std::size_t value) {
    if (!gravest || reason < gravest->reason) gravest = {reason, value};
  };
  for (std::size_t j = 0; j < features_; ++j)
    if (!context_.range.holds(values_[j])) found(context_.reason(values_[j]), j);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const double value = values_[features_ + i];
    std::optional<BadRowReason> reason = rules_[i].rule.violation(value);
    if (!reason && rules_[i].whole && value != std::floor(value)) reason = BadRowReason::action_out_of_range;
    if (reason) found(*reason, features_ + i);
  }
  return gravest;
}

void RowBuilder::store() noexcept {
  const Schema& schema = buffer_.schema();
  const double* value = values_.data();
  const int row = rows_++;
  if (schema.context_type == FloatType::f32) {
    float* out = buffer_.context_f32() + row;
    for (std::int64_t j = 0; j < schema.features; ++j) out[j * kBlockRows] = static_cast<float>(*value++);
  } else {
    double* out = buffer_.context_f64() + row;
    for (std::int64_t j = 0; j < schema.features; ++j) out[j * kBlockRows] = *value++;
  }
  if (schema.stage == RowStage::contexts) return;
  switch (schema.action_kind) {
    case ActionKind::continuous:
      buffer_.action()[row] = *value++;
      break;
    case ActionKind::categorical:
      buffer_.category()[row] = static_cast<std::int32_t>(*value++);
      break;
    case ActionKind::multilabel:
      for (int k = 0; k < schema.num_actions; ++k)
        buffer_.bits()[k * kBlockRows + row] = static_cast<std::uint8_t>(*value++);
      break;
  }
  buffer_.loss()[row] = *value++;
  if (schema.propensity != PropensityForm::label_product) buffer_.propensity()[row] = *value++;
  if (schema.label_propensity)
    for (int k = 0; k < schema.num_actions; ++k) buffer_.label_propensity()[k * kBlockRows + row] = *value++;
  for (std::size_t t = 0; t < schema.targets.size(); ++t) buffer_.target(static_cast<int>(t))[row] = *value++;
  if (schema.cluster) buffer_.cluster()[row] = cluster_;
}

Block RowBuilder::take() noexcept {
  const int rows = rows_;
  rows_ = 0;
  return buffer_.view(0, rows);
}

}  // namespace scrm
