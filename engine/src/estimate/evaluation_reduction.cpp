#include "estimate/evaluation_reduction.hpp"

#include <algorithm>
#include <array>

#include "estimate/unaudited_rows.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/weights/logged_difference.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {

struct EvaluationReduction::BaselineColumns {
  alignas(kColumnAlignment) double weights[kBlockRows];
  alignas(kColumnAlignment) double excess[kBlockRows];      // S of the additive estimator
  alignas(kColumnAlignment) double prediction[kBlockRows];  // those of ModelColumnsOfBlock
  alignas(kColumnAlignment) double model_terms[kBlockRows];
  alignas(kColumnAlignment) double additive_terms[kBlockRows];
  TopRows top;
};

EvaluationReduction::EvaluationReduction(const std::vector<NamedPolicy>& policies, const WeightOptions& rules,
                                         const ExtraTerms& extra, const Baseline& baseline, const Source& source,
                                         const EvaluationExtras& extras)
    : policies_(policies),
      rules_(rules),
      extra_(extra),
      baseline_(baseline),
      num_actions_(source.schema().num_actions),
      blocks_(source.blocks()),
      extras_(extras),
      layout_(policies.size(), extra) {
  for (const NamedPolicy& named : policies)
    model_applies_.push_back(extra.model && extras.model->inapplicable_reason(*named.policy).empty());
  if (baseline.kind == Baseline::Kind::policy) order_.push_back(baseline.policy);
  for (std::size_t p = 0; p < policies.size(); ++p) {
    if (!baseline.is(p)) order_.push_back(p);
  }
}

bool EvaluationReduction::reads_context_by_row() const {
  // More policies than this read each context several times: columns are then worth making.
  return policies_.size() <= kPolicyBatch && (!extra_.model || extras_.model->reads_context_by_row()) &&
         std::all_of(policies_.begin(), policies_.end(),
                     [](const NamedPolicy& named) { return named.policy->reads_context_by_row(); });
}

ReductionBytes EvaluationReduction::bytes() const {
  const std::size_t moments = extra_.given.size() * sizeof(Moments);
  std::size_t sums = sizeof(WeightSums) + sizeof(AdditiveSums) + moments;
  if (baseline_.kind != Baseline::Kind::none) sums += sizeof(DifferenceSums) + sizeof(AdditiveSums) + moments;
  ReductionBytes bytes{.partial = policies_.size() * sums, .help = "fewer policies at a time"};
  bytes.partial += policies_.size() * extras_.smoothed.size() * sizeof(SmoothedTerms);
  if (extra_.model)
    bytes.partial +=
        policies_.size() * (sizeof(ModelSums) + sizeof(ModelDifference) + extra_.tuned_columns() * sizeof(Moments));
  constexpr std::size_t kEpochs = 64;  // twice as many as any number of rows has, for vectors that grow
  if (extras_.sequence_centre) bytes.partial += policies_.size() * 2 * kEpochs * sizeof(Moments);
  if (extras_.clusters != nullptr) bytes.waiting += ClusterGroups::block_bytes(layout_);
  // Once as they are, and once as a message.
  if (extras_.clusters != nullptr && extras_.ranked)
    bytes.fixed += 2 * static_cast<std::size_t>(blocks_) * ClusterGroups::block_bytes(layout_);
  if (extras_.rows != nullptr && extras_.ranked) bytes.fixed += 2 * extras_.rows->table().sums.size() * sizeof(double);
  if (extras_.rows != nullptr && extras_.rows->by_block())
    bytes.waiting += layout_.width() * sizeof(double) + policies_.size() * sizeof(TopRows);
  for (std::size_t p = 0; p < policies_.size(); ++p) {
    const std::size_t columns =
        has_labels(p) ? static_cast<std::size_t>(num_actions_) * kBlockRows * sizeof(double) : 0;
    const std::size_t model = has_model(p) ? extras_.model->scratch_bytes(*policies_[p].policy) : 0;
    bytes.scratch = std::max(bytes.scratch, policies_[p].policy->scratch_bytes() + columns + model);
  }
  return bytes;
}

std::unique_ptr<Reduction::Partial> EvaluationReduction::make() const {
  auto partial = std::make_unique<Sums>();
  EvaluationSums& sums = partial->sums;
  sums.weights.resize(policies_.size());
  sums.additive.resize(policies_.size());
  sums.given.resize(policies_.size() * extra_.given.size());
  for (std::size_t p = 0; p < policies_.size(); ++p)
    sums.smoothed.insert(sums.smoothed.end(), extras_.smoothed.begin(), extras_.smoothed.end());
  if (extra_.model) {
    sums.model.resize(policies_.size());
    sums.tuned.resize(policies_.size() * extra_.tuned_columns());
    if (baseline_.kind != Baseline::Kind::none) sums.model_difference.resize(policies_.size());
  }
  if (extras_.sequence_centre) sums.epochs.resize(policies_.size());
  if (extras_.sequence_centre) sums.epoch_differences.resize(policies_.size());
  if (baseline_.kind == Baseline::Kind::none) return partial;
  sums.difference.resize(sums.weights.size());
  sums.additive_difference.resize(sums.additive.size());
  sums.given_difference.resize(sums.given.size());
  return partial;
}

void EvaluationReduction::compute(const Block& block, Partial& out) const {
  EvaluationSums& sums = static_cast<Sums&>(out).sums;
  const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
  alignas(kColumnAlignment) double weights[kPolicyBatch * kBlockRows];
  BaselineColumns base;
  ModelColumnsOfBlock columns;
  if (extra_.model) {
    extras_.model->logged(block, *scratch, columns.residual);
    for (int i = 0; i < block.rows; ++i) columns.residual[i] = block.loss[i] - columns.residual[i];
  }
  // The additive sums are centred on the block's mean loss, and it says whether losses are finite. Others sum the
  // losses last, when the policies have brought them into cache.
  const bool unaudited = block.context_by_row != nullptr;
  if (extra_.labels) sums.loss = column_moments(block.loss, block.rows);
  for (EpochMoments& epochs : sums.epochs) epochs.epochs.clear();
  for (EpochMoments& epochs : sums.epoch_differences) epochs.epochs.clear();
  if (extras_.clusters != nullptr) extras_.clusters->begin_block(block, sums.clusters);
  for (std::size_t first = 0; first < order_.size(); first += kPolicyBatch) {
    std::array<const TargetPolicy*, kPolicyBatch> batch{};
    const std::size_t count = std::min(batch.size(), order_.size() - first);
    for (std::size_t k = 0; k < count; ++k) batch[k] = policies_[order_[first + k]].policy.get();
    weights_of_policies({batch.data(), count}, block, *scratch, weights);
    if (unaudited) {  // before anything is added up
      sums.loss = column_moments(block.loss, block.rows);
      require_good_rows(block, {batch.data(), count}, weights, sums.loss);
    }
    if (first == 0 && baseline_.kind == Baseline::Kind::policy) std::copy_n(weights, kBlockRows, base.weights);
    for (std::size_t k = 0; k < count; ++k)
      add_policy(block, order_[first + k], weights + k * kBlockRows, base, *scratch, columns, sums);
  }
  if (!extra_.labels && !unaudited) sums.loss = column_moments(block.loss, block.rows);
  if (extras_.rows == nullptr) return;
  if (extras_.rows->by_block())
    add_block_sums(block, sums);
  else
    extras_.rows->add_block_losses(block);
}

void EvaluationReduction::merge(Partial& earlier, const Partial& later) const {
  EvaluationSums& into = static_cast<Sums&>(earlier).sums;
  const EvaluationSums& from = static_cast<const Sums&>(later).sums;
  into.loss.merge(from.loss);
  for (std::size_t p = 0; p < policies_.size(); ++p) {
    merge_weight_sums(into.weights[p], from.weights[p], rules_);
    into.additive[p].merge(from.additive[p]);
  }
  for (std::size_t g = 0; g < into.given.size(); ++g) into.given[g].merge(from.given[g]);
  for (std::size_t p = 0; p < into.difference.size(); ++p) {
    merge_difference_sums(into.difference[p], from.difference[p], rules_, baseline_.kind == Baseline::Kind::logged);
    into.additive_difference[p].merge(from.additive_difference[p]);
  }
  for (std::size_t g = 0; g < into.given_difference.size(); ++g)
    into.given_difference[g].merge(from.given_difference[g]);
  for (std::size_t s = 0; s < into.smoothed.size(); ++s) into.smoothed[s].terms.merge(from.smoothed[s].terms);
  for (std::size_t p = 0; p < into.model.size(); ++p) into.model[p].merge(from.model[p]);
  for (std::size_t t = 0; t < into.tuned.size(); ++t) into.tuned[t].merge(from.tuned[t]);
  for (std::size_t p = 0; p < into.model_difference.size(); ++p)
    into.model_difference[p].merge(from.model_difference[p]);
  into.blocks.insert(into.blocks.end(), from.blocks.begin(), from.blocks.end());
  into.clusters.append(from.clusters);
  for (std::size_t p = 0; p < into.epochs.size(); ++p) {
    into.epochs[p].merge(from.epochs[p]);
    into.epoch_differences[p].merge(from.epoch_differences[p]);
  }
}

void EvaluationReduction::visit_in_order(Partial& part) const {
  EvaluationSums& sums = static_cast<Sums&>(part).sums;
  for (const BlockSums& block : sums.blocks) extras_.rows->add_block_sums(block);
  // Their memory too: the next blocks of this partial may be few.
  sums.blocks = {};
  if (extras_.ranked) return;
  if (extras_.clusters != nullptr) extras_.clusters->add(sums.clusters);
  sums.clusters = {};
}

void EvaluationSums::transfer(ByteStream& bytes) {
  using scrm::transfer;
  transfer(bytes, loss);
  transfer(bytes, weights);
  transfer(bytes, additive);
  transfer(bytes, given);
  transfer(bytes, difference);
  transfer(bytes, additive_difference);
  transfer(bytes, given_difference);
  transfer(bytes, clusters);
  transfer(bytes, epochs);
  transfer(bytes, epoch_differences);
  transfer(bytes, smoothed);
  transfer(bytes, model);
  transfer(bytes, tuned);
  transfer(bytes, model_difference);
}

void EvaluationReduction::transfer(Partial& sums, ByteStream& bytes) const {
  static_cast<Sums&>(sums).sums.transfer(bytes);
}

void EvaluationReduction::transfer_kept(BlockRange blocks, ByteStream& bytes) const {
  if (extras_.rows != nullptr) extras_.rows->transfer(blocks.first * kBlockRows, blocks.end * kBlockRows, bytes);
}

bool EvaluationReduction::has_labels(std::size_t p) const {
  return extra_.labels && policies_[p].policy->has_label_probability();
}

void EvaluationReduction::add_policy(const Block& block, std::size_t p, double* weights, BaselineColumns& base,
                                     PolicyScratch& scratch, ModelColumnsOfBlock& columns, EvaluationSums& sums) const {
  const TargetPolicy& policy = *policies_[p].policy;
  alignas(kColumnAlignment) double excess[kBlockRows];
  const bool labels = has_labels(p);
  if (labels) {
    double* probability = scratch.columns(PolicyScratch::kCallerSlot, block.num_actions);
    policy.label_probability(block, scratch, probability);
    label_weight_excess(block, probability, rules_.alpha, excess);
    sums.additive[p] = additive_sums(block, excess, sums.loss.mean);
  }
  add_groups(block, p, weights, labels ? excess : nullptr, sums);
  if (extras_.sequence_centre) add_epochs(block, p, weights, base, sums);
  if (!extras_.smoothed.empty()) add_smoothed(block, p, weights, sums);
  if (has_model(p)) add_model(block, p, weights, labels ? excess : nullptr, base, scratch, columns, sums);
  for (std::size_t g = 0; g < extra_.given.size(); ++g) add_given_terms(block, p, g, weights, base, sums);
  if (baseline_.kind == Baseline::Kind::logged) {
    compute_logged_difference(block, weights, rules_, sums.weights[p], sums.difference[p]);
    if (labels) add_additive_difference(block, p, excess, base, sums);
  } else {
    compute_weight_sums(block, weights, rules_, sums.weights[p]);
  }
  if (extras_.clusters != nullptr && rules_.clip == 0)
    extras_.clusters->hold_top_rows(block, p, sums.weights[p].top, sums.clusters);
  if (baseline_.is(p)) {
    base.top = sums.weights[p].top;
    if (labels) std::copy_n(excess, kBlockRows, base.excess);
  } else if (baseline_.kind == Baseline::Kind::policy) {
    compute_difference_sums(block, weights, sums.weights[p].top, {base.weights, base.top}, rules_, sums.difference[p]);
    if (labels) add_additive_difference(block, p, excess, base, sums);
  }
}

void EvaluationReduction::add_model(const Block& block, std::size_t p, const double* weights, const double* excess,
                                    BaselineColumns& base, PolicyScratch& scratch, ModelColumnsOfBlock& columns,
                                    EvaluationSums& sums) const {
  extras_.model->expectation(block, *policies_[p].policy, scratch, columns.prediction);
  sums.model[p] = model_sums(block.rows, weights, columns);
  alignas(kColumnAlignment) double column[kBlockRows];
  add_group_terms(block, p, layout_.model(), columns.prediction, sums);
  for (int i = 0; i < block.rows; ++i) column[i] = weights[i] * columns.residual[i];
  add_group_terms(block, p, layout_.model() + 1, column, sums);
  alignas(kColumnAlignment) double additive[kBlockRows];
  if (excess != nullptr) {
    for (int i = 0; i < block.rows; ++i) additive[i] = columns.prediction[i] + columns.residual[i] * (1 + excess[i]);
    add_group_terms(block, p, layout_.model() + 2, additive, sums);
    sums.model[p].additive = column_moments(additive, block.rows);
  }
  add_tuned_terms(block, p, weights, columns, sums);
  if (baseline_.is(p)) {
    std::copy_n(columns.prediction, block.rows, base.prediction);
    std::copy_n(columns.terms, block.rows, base.model_terms);
    if (excess != nullptr) std::copy_n(additive, block.rows, base.additive_terms);
    return;
  }
  const bool logged = baseline_.kind == Baseline::Kind::logged;
  if (baseline_.kind == Baseline::Kind::none || (!logged && !has_model(baseline_.policy))) return;
  const auto moments_of_difference = [&](const double* own, const double* other) {
    for (int i = 0; i < block.rows; ++i) column[i] = own[i] - (logged ? block.loss[i] : other[i]);
    return column_moments(column, block.rows);
  };
  ModelDifference& difference = sums.model_difference[p];
  difference.prediction = moments_of_difference(columns.prediction, base.prediction);
  difference.terms = moments_of_difference(columns.terms, base.model_terms);
  if (excess != nullptr && (logged || has_labels(baseline_.policy)))
    difference.additive = moments_of_difference(additive, base.additive_terms);
}

void EvaluationReduction::add_tuned_terms(const Block& block, std::size_t p, const double* weights,
                                          const ModelColumnsOfBlock& columns, EvaluationSums& sums) const {
  alignas(kColumnAlignment) double terms[kBlockRows];
  const std::span<const double> all(weights, static_cast<std::size_t>(block.rows));
  std::size_t at = p * extra_.tuned_columns();
  for (std::size_t t = 0; t < extra_.tuned.size(); ++t) {
    const TunedResidual& residual = *extra_.tuned[t]->tuned;
    for (std::size_t s = 0; s < extra_.scales.size(); ++s, ++at) {
      residual.weights(all, residual.parameter(extra_.scales[s]), terms);
      for (int i = 0; i < block.rows; ++i) terms[i] = columns.prediction[i] + terms[i] * columns.residual[i];
      add_group_terms(block, p, layout_.tuned(t, s), terms, sums);
      sums.tuned[at] = column_moments(terms, block.rows);
    }
  }
}

void EvaluationReduction::add_group_terms(const Block& block, std::size_t p, std::size_t at, const double* terms,
                                          EvaluationSums& sums) const {
  if (extras_.clusters != nullptr) extras_.clusters->add_block_terms(block, p, at, terms, sums.clusters);
  if (extras_.rows != nullptr && !extras_.rows->by_block()) extras_.rows->add_block_terms(block, p, at, terms);
}

void EvaluationReduction::add_groups(const Block& block, std::size_t p, const double* weights, const double* excess,
                                     EvaluationSums& sums) const {
  if (extras_.clusters != nullptr) extras_.clusters->add_block(block, p, weights, rules_, excess, sums.clusters);
  if (extras_.rows != nullptr && !extras_.rows->by_block()) extras_.rows->add_block(block, p, weights, rules_, excess);
}

void EvaluationReduction::add_block_sums(const Block& block, EvaluationSums& sums) const {
  BlockSums one;
  one.first_row = block.first_row;
  one.sums.resize(layout_.width());
  one.sums[GroupLayout::kRows] = block.rows;
  one.sums[GroupLayout::kLoss] = sums.loss.mean * sums.loss.count;
  for (std::size_t p = 0; p < policies_.size(); ++p) {
    one.set_policy(layout_, p, sums.weights[p], rules_);
    double* own = one.sums.data() + layout_.policy(p);
    if (has_labels(p)) {
      const AdditiveSums& additive = sums.additive[p];
      own[GroupLayout::kOwn + 1] = additive.pair.mean_b * additive.pair.count;
      own[GroupLayout::kOwn] =
          additive.pair.mean_a * additive.pair.count + additive.centre * own[GroupLayout::kOwn + 1];
    }
    for (std::size_t g = 0; g < extra_.given.size(); ++g) {
      const Moments& terms = sums.given[p * extra_.given.size() + g];
      own[layout_.given(g)] = terms.mean * terms.count;
    }
    if (!has_model(p)) continue;
    own[layout_.model()] = sums.model[p].prediction.true_mean() * block.rows;
    own[layout_.model() + 1] = sums.model[p].residual.true_mean() * block.rows;
    own[layout_.model() + 2] = sums.model[p].additive.true_mean() * block.rows;
    for (std::size_t c = 0; c < extra_.tuned_columns(); ++c)
      own[layout_.tuned(0, c)] = sums.tuned[p * extra_.tuned_columns() + c].true_mean() * block.rows;
  }
  sums.blocks.clear();
  sums.blocks.push_back(std::move(one));
}

void EvaluationReduction::add_epochs(const Block& block, std::size_t p, const double* weights,
                                     const BaselineColumns& base, EvaluationSums& sums) const {
  alignas(kColumnAlignment) double terms[kBlockRows];
  const double centre = *extras_.sequence_centre;
  for (int i = 0; i < block.rows; ++i) terms[i] = weights[i] * (block.loss[i] - centre);
  sums.epochs[p].add(block.first_row, terms, block.rows);
  if (baseline_.kind == Baseline::Kind::none || baseline_.is(p)) return;
  const bool logged = baseline_.kind == Baseline::Kind::logged;
  for (int i = 0; i < block.rows; ++i)
    terms[i] = (weights[i] - (logged ? 1.0 : base.weights[i])) * (block.loss[i] - centre);
  sums.epoch_differences[p].add(block.first_row, terms, block.rows);
}

void EvaluationReduction::add_smoothed(const Block& block, std::size_t p, const double* weights,
                                       EvaluationSums& sums) const {
  alignas(kColumnAlignment) double added[kBlockRows], total[kBlockRows], terms[kBlockRows];
  for (std::size_t s = 0; s < extras_.smoothed.size(); ++s) {
    SmoothedTerms& one = sums.smoothed[p * extras_.smoothed.size() + s];
    for (int i = 0; i < block.rows; ++i) {
      added[i] = one.lambda * weights[i] * (one.centre - block.loss[i]);
      total[i] = 1 + added[i];
    }
    log_array(total, terms, block.rows);
    // ln(1 + x) as ln(u) x / (u − 1) with u = 1 + x as it was rounded: small x keep their digits.
    for (int i = 0; i < block.rows; ++i) {
      const double exact = total[i] - 1;
      terms[i] = -(exact == 0 ? added[i] : terms[i] * (added[i] / exact)) / one.lambda;
    }
    one.terms = column_moments(terms, block.rows);
  }
}

void EvaluationReduction::add_additive_difference(const Block& block, std::size_t p, const double* excess,
                                                  const BaselineColumns& base, EvaluationSums& sums) const {
  alignas(kColumnAlignment) double difference[kBlockRows];
  if (baseline_.kind == Baseline::Kind::policy) {
    if (!has_labels(baseline_.policy)) return;
    for (int i = 0; i < block.rows; ++i) difference[i] = excess[i] - base.excess[i];
    excess = difference;
  }
  sums.additive_difference[p] = additive_difference_sums(block, excess, sums.loss.mean);
}

void EvaluationReduction::add_given_terms(const Block& block, std::size_t p, std::size_t g, const double* weights,
                                          const BaselineColumns& base, EvaluationSums& sums) const {
  const Estimator& estimator = *extra_.given[g];
  const std::size_t at = p * extra_.given.size() + g;
  const double parameter = parameter_value(estimator, rules_.alpha, 0);
  const auto rows = static_cast<std::size_t>(block.rows);
  alignas(kColumnAlignment) double terms[kBlockRows], slopes[kBlockRows], values[kBlockRows];
  estimator.weight_function({weights, rows}, parameter, values, slopes);
  for (int i = 0; i < block.rows; ++i) terms[i] = values[i] * block.loss[i];
  add_group_terms(block, p, layout_.given(g), terms, sums);
  sums.given[at] = column_moments(terms, block.rows);
  if (baseline_.kind == Baseline::Kind::none || baseline_.is(p)) return;
  if (baseline_.kind == Baseline::Kind::logged) {
    for (int i = 0; i < block.rows; ++i) terms[i] = (values[i] - 1) * block.loss[i];
  } else {
    alignas(kColumnAlignment) double others[kBlockRows];
    estimator.weight_function({base.weights, rows}, parameter, others, slopes);
    for (int i = 0; i < block.rows; ++i) terms[i] = (values[i] - others[i]) * block.loss[i];
  }
  sums.given_difference[at] = column_moments(terms, block.rows);
}

}  // namespace scrm
