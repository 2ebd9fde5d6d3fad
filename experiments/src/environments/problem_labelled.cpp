#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "environments/labelled_transforms.hpp"
#include "environments/problem_factories.hpp"
#include "environments/record_actions.hpp"
#include "scrm/engine/logistic_regression.hpp"
#include "scrm/engine/memory_source.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/experiments/sample_actions.hpp"
#include "scrm/io/error.hpp"
#include "scrm/kernels/densities.hpp"

namespace scrm {
namespace {

constexpr double kTestShare = 0.33;
constexpr double kFirstPolicyShare = 0.05;
// A label with one class only among the first policy's rows gets that class with this probability.
constexpr double kOneClassProbability = 0.95;
constexpr std::array<double, 10> kSkylineC = {1e-4, 7.7e-4, 6e-3, 4.6e-2, 3.6e-1, 2.8, 2.2e1, 1.7e2, 1.3e3, 1e4};
constexpr int kSkylineFolds = 5;
// A stream of the seed, next to those of rows.
constexpr std::uint32_t kShuffleStream = 0x5B1F;

/// Rows [0, n) in an order drawn from the seed.
std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(seed, kShuffleStream, 0);
  for (std::int64_t i = n - 1; i > 0; --i) {
    const auto j = std::min<std::int64_t>(i, static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1)));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

class LabelledProblem final : public BanditProblem {
 public:
  LabelledProblem(std::shared_ptr<const LabelledData> data, ProblemShape shape, std::uint64_t seed,
                  const RunOptions& options, double bonus)
      : BanditProblem(std::move(shape)), data_(std::move(data)), seed_(seed), options_(options) {
    std::vector<std::int64_t> order = shuffled(data_->rows, seed);
    const std::int64_t test_rows = labelled_test_rows(data_->rows);
    test_.assign(order.begin(), order.begin() + test_rows);
    train_.assign(order.begin() + test_rows, order.end());
    first_ = fit_first_policy(bonus);
    // The released code mixes ε in when it tests, but neither into what it learns nor into what it plays.
    if (options.protocol == Protocol::paper) first_.epsilon = options.epsilon;
    start_ = first_;
    start_.theta.assign(start_.theta.size(), 0.0);
    uniform_.kind = PolicyKind::uniform;
    uniform_.outputs = 0;
    test_contexts_ = contexts(test_, 0, static_cast<std::int64_t>(test_.size()), false);
  }

  const Policy& start() const override { return start_; }
  const Policy& first_policy(bool sequential) const override {
    return sequential && options_.protocol == Protocol::published ? uniform_ : first_;
  }
  const Policy& baseline_policy() const override { return first_; }

  std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const override {
    auto source = std::make_unique<MemorySource>(schema());
    std::vector<FilledBlock> blocks = contexts(train_, begin(batch), begin(batch + 1), true);
    if (logging_policy.rule) {
      for (FilledBlock& filled : blocks) {
        const Block block = filled.buffer->view(filled.first * options_.replays, filled.rows);
        (*logging_policy.rule)(block, *filled.buffer);
        record_unit_propensities(block, *filled.buffer);
        compute_losses(filled);
        source->append(std::move(filled.buffer), filled.rows);
      }
      return source;
    }
    const auto target = make_target_policy(logging_policy.policy, schema(), "the deployed policy");
    PolicyScratch scratch, columns;
    for (FilledBlock& filled : blocks) {
      BlockBuffer& buffer = *filled.buffer;
      const std::int64_t row = filled.first * options_.replays;
      const Block block = buffer.view(row, filled.rows);
      const RolloutKey rollout_key{seed_, 0};
      double* scores = columns.columns(0, 1 + data_->labels) + kBlockRows;
      const ActionSampler sampler{logging_policy.policy, *target, rollout_key, false};
      const SamplerScratch sampler_scratch{scratch, scores, scores - kBlockRows};
      if (logging_policy.learned && options_.protocol == Protocol::published) {
        target->scores(block, scratch, scores);
        leak_labels(filled, scores);
        sample_actions(logging_policy.policy, rollout_key, block, scores, false, buffer);
        record_bit_propensities(block, scores, buffer);
      } else {
        record_actions(sampler, block, sampler_scratch, buffer);
      }
      compute_losses(filled);
      source->append(std::move(filled.buffer), filled.rows);
    }
    return source;
  }

  /// In closed form, and with ε whatever the policy itself says: that is how all methods are compared.
  double test_loss(const Policy& policy) const override {
    const auto target = make_target_policy(policy, context_schema(false), "the tested policy");
    PolicyScratch scratch, columns;
    double wrong = 0;
    for (const FilledBlock& block : test_contexts_) {
      double* scores = columns.columns(0, data_->labels);
      target->scores(block.buffer->view(0, block.rows), scratch, scores);
      for (int k = 0; k < data_->labels; ++k) {
        for (int i = 0; i < block.rows; ++i) {
          const double score = scores[static_cast<std::int64_t>(k) * kBlockRows + i];
          const double miss = label(test_, block.first + i, k) ? -score : score;
          wrong += (1 - options_.epsilon) / (1 + std::exp(-miss)) + options_.epsilon / 2;
        }
      }
    }
    return wrong / static_cast<double>(test_.size()) / data_->labels;
  }

  RuleLoss test_loss(const ActionRule& rule) const override {
    BlockBuffer actions(context_schema(false, RowStage::acted));
    std::int64_t wrong = 0;
    for (const FilledBlock& block : test_contexts_) {
      rule(block.buffer->view(0, block.rows), actions);
      for (int k = 0; k < data_->labels; ++k) {
        const std::uint8_t* bits = actions.bits() + static_cast<std::int64_t>(k) * kBlockRows;
        for (int i = 0; i < block.rows; ++i) wrong += (bits[i] != 0) != label(test_, block.first + i, k);
      }
    }
    const double plain = static_cast<double>(wrong) / static_cast<double>(test_.size()) / data_->labels;
    return {(1 - options_.epsilon) * plain + options_.epsilon / 2, plain};
  }

  Policy skyline() const override {
    Policy policy = first_;
    policy.epsilon = options_.epsilon;
    policy.mixing = options_.mixing;
    set_models(fit_logistic_cv(*data_, train_, kSkylineC, kSkylineFolds, {}), 0.0, policy);
    return policy;
  }

  std::optional<Policy> constant_policy(bool majority) const override {
    Policy policy = start_;
    policy.epsilon = options_.epsilon;
    for (int k = 0; k < data_->labels; ++k) {
      std::int64_t ones = 0;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(train_.size()); ++i) ones += label(train_, i, k);
      const bool one = majority && 2 * ones > static_cast<std::int64_t>(train_.size());
      policy.theta[static_cast<std::size_t>(k * policy.row_length())] = one ? kCertainScore : -kCertainScore;
    }
    return policy;
  }

 private:
  /// A block of contexts: rows [first, first + rows / replays) of a list of rows.
  struct FilledBlock {
    std::unique_ptr<BlockBuffer> buffer;
    std::int64_t first = 0;
    int rows = 0;
  };

  /// Rows to be logged, or contexts met once, alone or acted on.
  Schema context_schema(bool logged, RowStage stage = RowStage::contexts) const {
    Schema schema = shape().schema;
    if (!logged) schema.replays = 1;
    if (!logged) schema.stage = stage;
    return schema;
  }

  bool label(const std::vector<std::int64_t>& rows, std::int64_t i, int k) const {
    return data_->label[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)] * data_->labels + k)] != 0;
  }

  /// First training row of a batch.
  std::int64_t begin(int batch) const {
    return shape().rows_before.at(static_cast<std::size_t>(batch)) / options_.replays;
  }

  std::vector<FilledBlock> contexts(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t last,
                                    bool logged) const {
    const Schema schema = context_schema(logged);
    const int replays = schema.replays;
    const int most = kBlockRows / replays;
    std::vector<FilledBlock> out;
    for (; first < last; first += most) {
      const int count = static_cast<int>(std::min<std::int64_t>(most, last - first));
      FilledBlock filled{std::make_unique<BlockBuffer>(schema), first, count * replays};
      BlockBuffer& buffer = *filled.buffer;
      for (int i = 0; i < count; ++i) {
        visit_row(*data_, rows[static_cast<std::size_t>(first + i)], [&](std::int64_t j, double value) {
          if (data_->sparse) {
            buffer.indices().push_back(static_cast<std::int32_t>(j));
            buffer.values().push_back(value);
          } else {
            buffer.context_f64()[j * buffer.context_stride() + i] = value;
          }
        });
        if (data_->sparse) buffer.indptr()[i + 1] = static_cast<std::int64_t>(buffer.values().size());
      }
      out.push_back(std::move(filled));
    }
    return out;
  }

  /// What the released code does: a bit is set with the probability of the row's true bit, and recorded so.
  void leak_labels(const FilledBlock& filled, double* scores) const {
    for (int k = 0; k < data_->labels; ++k) {
      for (int i = 0; i < filled.rows; ++i) {
        double& score = scores[static_cast<std::int64_t>(k) * kBlockRows + i];
        if (!label(train_, filled.first + i / options_.replays, k)) score = -score;
      }
    }
  }

  /// Propensities of the block's bits when each is set with probability σ(score).
  void record_bit_propensities(const Block& block, const double* scores, BlockBuffer& buffer) const {
    multilabel_log_probability(block.bits, scores, data_->labels, 0.0, Mixing::label, buffer.propensity());
    if (schema().label_propensity) {
      multilabel_label_probability(block.bits, scores, data_->labels, 0.0, buffer.label_propensity());
    }
  }

  /// The share of wrong bits of every row.
  void compute_losses(const FilledBlock& filled) const {
    const std::uint8_t* bits = filled.buffer->bits();
    for (int i = 0; i < filled.rows; ++i) {
      int wrong = 0;
      for (int k = 0; k < data_->labels; ++k) {
        wrong += (bits[static_cast<std::int64_t>(k) * kBlockRows + i] != 0) !=
                 label(train_, filled.first + i / options_.replays, k);
      }
      filled.buffer->loss()[i] = static_cast<double>(wrong) / data_->labels;
    }
  }

  static void set_models(const std::vector<LogisticModel>& models, double bonus, Policy& policy) {
    const auto width = static_cast<std::size_t>(policy.row_length());
    for (std::size_t k = 0; k < models.size(); ++k) {
      double* row = policy.theta.data() + k * width;
      std::fill_n(row, width, 0.0);
      if (models[k].single_class) {
        const double odds = std::log(kOneClassProbability / (1 - kOneClassProbability));
        row[0] = models[k].only_class ? odds : -odds;
        continue;
      }
      for (std::size_t j = 0; j < width; ++j) row[j] = models[k].beta[j] + bonus;
    }
  }

  /// One logistic regression a label on few rows, made worse by a bonus on every coefficient.
  Policy fit_first_policy(double bonus) const {
    Policy policy;
    policy.kind = PolicyKind::multilabel;
    policy.outputs = data_->labels;
    policy.mixing = options_.mixing;
    policy.theta.assign(static_cast<std::size_t>(data_->labels * (1 + data_->features)), 0.0);
    const auto few = static_cast<std::size_t>(kFirstPolicyShare * static_cast<double>(train_.size()));
    if (few == 0) return policy;
    set_models(fit_logistic(*data_, std::span(train_).first(few), {}), bonus, policy);
    return policy;
  }

  std::shared_ptr<const LabelledData> data_;
  std::uint64_t seed_;
  RunOptions options_;
  std::vector<std::int64_t> train_, test_;
  Policy first_, start_, uniform_;
  std::vector<FilledBlock> test_contexts_;
};

}  // namespace

std::int64_t labelled_test_rows(std::int64_t rows) {
  return static_cast<std::int64_t>(std::ceil(kTestShare * static_cast<double>(rows) - 1e-9));
}

std::shared_ptr<const BanditProblem> make_labelled_problem(std::shared_ptr<const LabelledData> data, ProblemShape shape,
                                                           std::uint64_t seed, const RunOptions& options,
                                                           double bonus) {
  return std::make_shared<LabelledProblem>(std::move(data), std::move(shape), seed, options, bonus);
}

}  // namespace scrm
