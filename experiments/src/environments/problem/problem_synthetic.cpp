#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "environments/problem/problem_factories.hpp"
#include "environments/problem/supervised_policies.hpp"
#include "environments/record_actions.hpp"
#include "environments/row_cache.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/engine/regression/ridge_regression.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/experiments/sample_actions.hpp"
#include "scrm/experiments/simulated_source.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr int kTestRows = 10'000;
constexpr int kTestDraws = 10;
constexpr int kSkylineRows = 10'000;
constexpr std::array<double, 4> kSkylinePenalties = {1e-3, 1e-2, 1e-1, 1.0};
// Rollouts of the environment's stream: batches are ranges of the first, tests and skylines have their own.
constexpr int kTestRollout = 1;
constexpr int kSkylineRollout = 2;
// Rows that are kept once drawn, since every λ of a seed meets them: 2^18 rows of ten features are 25 MB.
constexpr std::int64_t kCachedRows = 1 << 18;

/// Test rows of one block, with the normal draws that continuous policies act by: losses of two policies then differ by
/// the policies alone.
struct TestBlock {
  TestBlock(const Environment& environment, std::uint64_t seed, const Schema& schema, std::int64_t first)
      : rows(static_cast<int>(std::min<std::int64_t>(kBlockRows, kTestRows - first))),
        buffer(schema),
        state(static_cast<std::size_t>(environment.state_columns()) * kBlockRows),
        drawn{{seed, kTestRollout}, first, rows, buffer.context_f64(), state.data()} {
    environment.draw(drawn);
    if (environment.action_kind() != ActionKind::continuous) return;
    normals.resize(static_cast<std::size_t>(kTestDraws) * kBlockRows);
    environment.test_normals(drawn, kTestDraws, normals.data());
  }

  int rows;
  mutable BlockBuffer buffer;  // the context, which stays; actions are another buffer's
  std::vector<double> state;
  std::vector<double> normals;  // kTestDraws columns
  EnvironmentRows drawn;
};

/// The policy with the spread and the intercept that the options ask for, where its actions are continuous.
Policy with_options(Policy policy, const RunOptions& options) {
  const bool continuous = policy.kind == PolicyKind::gaussian || policy.kind == PolicyKind::lognormal;
  if (continuous && options.scale) policy.scale = *options.scale;
  if (continuous && options.start) policy.theta.front() = *options.start;
  return policy;
}

/// Who logs the first batch. Where learning starts from that very policy, it changes with the options too.
Policy first_logging_policy(const Environment& environment, std::uint64_t seed, const RunOptions& options) {
  Policy policy = environment.first_policy();
  const Policy start = environment.start_policy(seed);
  const bool same = policy.kind == start.kind && policy.scale == start.scale && policy.theta == start.theta;
  return same ? with_options(std::move(policy), options) : policy;
}

/// Where learning starts, with the exploration that the options ask for.
Policy explored_start(const Environment& environment, std::uint64_t seed, const RunOptions& options) {
  Policy policy = with_options(environment.start_policy(seed), options);
  if (policy_kind(policy.kind).format.epsilon) {
    policy.epsilon = options.epsilon;
    policy.mixing = options.mixing;
  }
  return policy;
}

std::int64_t cached_rows(const RunOptions& options) {
  return std::min(kCachedRows, options.batches.begin(options.rollouts));
}

ProblemShape synthetic_shape(const Environment& environment, const RunOptions& options) {
  if (options.features != FeatureMap::linear) {
    throw Error(ErrorKind::usage,
                "features = \"fourier\" is for labelled data; give it to the methods of such environments alone");
  }
  ProblemShape shape;
  shape.schema = simulated_schema(environment, {});
  const Policy start = explored_start(environment, 0, options);
  const bool explores = start.epsilon > 0 || options.logging_epsilon.value_or(0) > 0;
  if (start.mixing == Mixing::joint && explores) shape.schema.label_propensity = false;
  for (int batch = 0; batch <= options.rollouts + 1; ++batch) {
    shape.rows_before.push_back(options.batches.begin(batch));
  }
  const std::int64_t columns = environment.features() + environment.state_columns();
  shape.problem_bytes =
      static_cast<std::size_t>(cached_rows(options) * (columns + 1) + kTestRows * (columns + kTestDraws + 4)) *
      sizeof(double);
  shape.row_bytes = block_buffer_bytes(shape.schema) / kBlockRows;
  return shape;
}

class SyntheticProblem final : public BanditProblem {
 public:
  SyntheticProblem(std::shared_ptr<const Environment> environment, std::uint64_t seed, const RunOptions& options)
      : BanditProblem(synthetic_shape(*environment, options)),
        environment_(std::move(environment)),
        cache_(std::make_shared<RowCache>(environment_, seed, cached_rows(options))),
        start_(explored_start(*environment_, seed, options)),
        first_(first_logging_policy(*environment_, seed, options)),
        best_scale_(options.learn_scale ? least_scale(options, start_.scale) : options.scale),
        seed_(seed) {
    for (std::int64_t first = 0; first < kTestRows; first += kBlockRows) {
      test_.emplace_back(*environment_, seed, schema(), first);
    }
  }

  const Policy& start() const override { return start_; }
  const Policy& first_policy(bool) const override { return first_; }
  const Policy& baseline_policy() const override { return start_; }

  std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const override {
    if (logging_policy.rule) return rule_batch(*logging_policy.rule, batch);
    SimulateOptions options = simulate_options();
    options.rows = shape().batch_rows(batch);
    options.first_row = first_row(batch);
    return std::make_unique<SimulatedSource>(environment_, logging_policy.policy, "the deployed policy", options);
  }

  std::unique_ptr<Source> regenerated_batches(const std::vector<LoggingPolicy>& logging_policies) const override {
    SimulateOptions options = simulate_options();
    std::vector<PolicySegment> segments;
    for (const LoggingPolicy& logging_policy : logging_policies) {
      const std::int64_t rows = shape().batch_rows(static_cast<int>(segments.size()));
      segments.push_back({logging_policy.policy, rows});
      options.rows += rows;
    }
    return std::make_unique<SimulatedSource>(environment_, segments, "the deployed policy", options);
  }

  double test_loss(const Policy& policy) const override {
    // A policy without noise is not what a formula for noisy ones is about.
    if (policy.scale > 0) {
      if (const std::optional<double> exact = environment_->expected_loss(policy)) return *exact;
    }
    const auto target = make_target_policy(policy, schema(), "the tested policy");
    PolicyScratch scratch, scores;
    BlockBuffer actions(schema());
    double sum = 0;
    std::int64_t count = 0;
    for (const TestBlock& block : test_) {
      double* mean = scores.columns(0, std::max(1, schema().num_actions));
      target->scores(block.buffer.view(block.drawn.first_row, block.rows), scratch, mean);
      for (int d = 0; d < kTestDraws; ++d) {
        sum += drawn_losses(policy, block, mean, d, actions);
        count += block.rows;
        if (policy.scale == 0) break;  // without noise, one draw is all of them
      }
    }
    return sum / static_cast<double>(count);
  }

  RuleLoss test_loss(const ActionRule& rule) const override {
    BlockBuffer actions(schema());
    const bool explores = environment_->action_kind() == ActionKind::multilabel && start_.epsilon > 0;
    PolicyScratch columns;
    double plain = 0, mixed = 0;
    for (const TestBlock& block : test_) {
      const Block view = actions.view(block.drawn.first_row, block.rows);
      rule(block.buffer.view(block.drawn.first_row, block.rows), actions);
      plain += summed_losses(block, view, actions);
      if (!explores) continue;
      // Scores as good as certain make the policy that is the rule mixed with ε.
      double* scores = columns.columns(0, schema().num_actions);
      for (int i = 0; i < schema().num_actions * kBlockRows; ++i)
        scores[i] = actions.bits()[i] != 0 ? kCertainScore : -kCertainScore;
      for (int d = 0; d < kTestDraws; ++d) mixed += drawn_losses(start_, block, scores, d, actions) / kTestDraws;
    }
    return {(explores ? mixed : plain) / kTestRows, plain / kTestRows};
  }

  std::optional<double> optimum() const override {
    std::optional<Policy> best = environment_->best_policy();
    if (!best) return std::nullopt;
    if (best_scale_) best->scale = *best_scale_;
    return test_loss(*best);
  }

  Policy skyline() const override {
    const RightAnswers right = right_answers();
    const LabelledData& data = right.data;
    if (environment_->action_kind() == ActionKind::categorical) return explored(skyline_classes(data, right.rows));
    if (environment_->action_kind() == ActionKind::multilabel)
      return explored(sharpened(skyline_bits(data, right.rows)));
    Policy policy = start_;
    policy.scale = 0;
    policy.theta = fit_ridge(data.context, data.features, right.numbers, kSkylinePenalties).beta;
    return policy;
  }

  std::optional<Policy> constant_policy(bool majority) const override {
    const ActionKind kind = environment_->action_kind();
    if (kind == ActionKind::continuous || (!majority && kind != ActionKind::multilabel)) return std::nullopt;
    const RightAnswers right = right_answers();
    return explored(majority ? majority_policy(right.data, right.rows) : zero_bits(right.data));
  }

 private:
  /// Rows of their own, drawn for methods that may look at what was right.
  struct RightAnswers {
    LabelledData data;
    std::vector<std::int64_t> rows;  ///< all of them
    std::vector<double> numbers;     ///< continuous actions
  };

  RightAnswers right_answers() const {
    const auto features = environment_->features();
    const int actions = environment_->num_actions();
    RightAnswers right;
    LabelledData& data = right.data;
    data.rows = kSkylineRows;
    data.features = features;
    data.labels = actions;
    data.multiclass = environment_->action_kind() == ActionKind::categorical;
    data.context.resize(static_cast<std::size_t>(kSkylineRows * features));
    std::vector<double> context(static_cast<std::size_t>(features) * kBlockRows),
        state(static_cast<std::size_t>(environment_->state_columns()) * kBlockRows),
        optimal(static_cast<std::size_t>(std::max(1, actions)) * kBlockRows);
    for (std::int64_t first = 0; first < kSkylineRows; first += kBlockRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, kSkylineRows - first));
      const EnvironmentRows drawn{{seed_, kSkylineRollout}, first, rows, context.data(), state.data()};
      environment_->draw(drawn);
      environment_->optimal_actions(drawn, optimal.data());
      for (int i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < features; ++j) {
          data.context[static_cast<std::size_t>((first + i) * features + j)] =
              context[static_cast<std::size_t>(j * kBlockRows + i)];
        }
        right.rows.push_back(first + i);
        add_answer(optimal, i, right);
      }
    }
    return right;
  }

  void add_answer(const std::vector<double>& optimal, int row, RightAnswers& right) const {
    const double answer = optimal[static_cast<std::size_t>(row)];
    switch (environment_->action_kind()) {
      case ActionKind::continuous:
        right.numbers.push_back(answer);
        return;
      case ActionKind::categorical:
        right.data.category.push_back(static_cast<std::int32_t>(answer));
        return;
      case ActionKind::multilabel:
        for (int k = 0; k < right.data.labels; ++k) {
          right.data.label.push_back(optimal[static_cast<std::size_t>(k * kBlockRows + row)] != 0);
        }
        return;
    }
  }

  /// As all methods are compared, with ε.
  Policy explored(Policy policy) const {
    policy.epsilon = start_.epsilon;
    policy.mixing = start_.mixing;
    return policy;
  }

  std::int64_t first_row(int batch) const { return shape().rows_before.at(static_cast<std::size_t>(batch)); }

  /// What all batches are drawn with.
  SimulateOptions simulate_options() const {
    SimulateOptions options;
    options.rollout_key.seed = seed_;
    options.label_propensity = schema().label_propensity;
    options.cache = cache_;
    return options;
  }

  /// Sum of the losses of one draw for every row of the block.
  double drawn_losses(const Policy& policy, const TestBlock& block, const double* mean, int draw,
                      BlockBuffer& actions) const {
    const Block view = actions.view(block.drawn.first_row, block.rows);
    const double* normals =
        block.normals.empty() ? nullptr : block.normals.data() + static_cast<std::int64_t>(draw) * kBlockRows;
    sample_actions(policy, {seed_, kTestRollout + 2 + draw}, view, mean, false, actions, normals);
    return summed_losses(block, view, actions);
  }

  double summed_losses(const TestBlock& block, const Block& view, BlockBuffer& actions) const {
    environment_->losses(block.drawn, view, actions.loss());
    // Four sums side by side: one would wait for every addition.
    const double* loss = actions.loss();
    double sums[4] = {};
    const int whole = block.rows / 4 * 4;
    for (int i = 0; i < whole; i += 4) {
      for (int lane = 0; lane < 4; ++lane) sums[lane] += loss[i + lane];
    }
    for (int i = whole; i < block.rows; ++i) sums[i - whole] += loss[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  /// Rows that a rule acts on are held: it may learn on while they are read.
  std::unique_ptr<Source> rule_batch(const ActionRule& rule, int batch) const {
    auto source = std::make_unique<MemorySource>(schema());
    std::vector<double> state(static_cast<std::size_t>(environment_->state_columns()) * kBlockRows);
    const std::int64_t all = shape().batch_rows(batch);
    for (std::int64_t done = 0; done < all; done += kBlockRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, all - done));
      auto buffer = std::make_unique<BlockBuffer>(schema());
      const EnvironmentRows drawn{{seed_, 0}, first_row(batch) + done, rows, buffer->context_f64(), state.data()};
      cache_->draw(drawn);
      const Block block = buffer->view(done, rows);
      rule(block, *buffer);
      record_unit_propensities(block, *buffer);
      environment_->losses(drawn, block, buffer->loss());
      source->append(std::move(buffer), rows);
    }
    return source;
  }

  std::shared_ptr<const Environment> environment_;
  std::shared_ptr<const RowCache> cache_;
  Policy start_;
  Policy first_;
  std::optional<double> best_scale_;  // that learned policies can have, where it is not the environment's
  std::uint64_t seed_;
  std::vector<TestBlock> test_;
};

}  // namespace

ProblemFactory make_synthetic_factory(std::unique_ptr<Environment> (*make)(const EnvironmentOptions&)) {
  const std::shared_ptr<const Environment> example = make({});
  ProblemFactory factory;
  factory.defaults = example->defaults();
  factory.action_kind = example->action_kind();
  factory.knows_right_actions = example->has_optimal_actions();
  factory.shape = [example](const RunOptions& options) { return synthetic_shape(*example, options); };
  factory.make = [make](std::uint64_t seed, const RunOptions& options) {
    EnvironmentOptions environment;
    environment.seed = seed;
    if (options.protocol == Protocol::published) environment.published = options.batches;
    return std::make_shared<SyntheticProblem>(make(environment), seed, options);
  };
  return factory;
}

}  // namespace scrm
