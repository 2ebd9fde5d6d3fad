#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "environments/cached_environment.hpp"
#include "environments/problem_factories.hpp"
#include "environments/record_actions.hpp"
#include "scrm/engine/memory_source.hpp"
#include "scrm/engine/policy_kind.hpp"
#include "scrm/engine/ridge_regression.hpp"
#include "scrm/engine/target_policy.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/experiments/sample_actions.hpp"
#include "scrm/experiments/simulated_source.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

constexpr int kTestRows = 10'000;
constexpr int kTestDraws = 10;
constexpr int kSkylineRows = 10'000;
constexpr std::array<double, 4> kSkylinePenalties = {1e-3, 1e-2, 1e-1, 1.0};
// A score that is as good as certain: σ(36.7) rounds to 1 − 1e-16.
constexpr double kCertainScore = 36.0;
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

class SyntheticProblem final : public BanditProblem {
 public:
  SyntheticProblem(std::shared_ptr<const Environment> environment, std::uint64_t seed, const RunOptions& options)
      : batches_(options.batches),
        environment_(std::make_shared<CachedEnvironment>(
            environment, seed, std::min(kCachedRows, options.batches.begin(options.rollouts)))),
        start_(environment->start_policy(seed)),
        first_(environment->first_policy()),
        seed_(seed) {
    if (policy_kind(start_.kind).format.epsilon) {
      start_.epsilon = options.epsilon;
      start_.mixing = options.mixing;
    }
    schema_ = simulated_schema(*environment_, {});
    if (start_.mixing == Mixing::joint && start_.epsilon > 0) schema_.label_propensity = false;
    for (std::int64_t first = 0; first < kTestRows; first += kBlockRows) {
      test_.emplace_back(*environment_, seed, schema_, first);
    }
  }

  const Schema& schema() const override { return schema_; }
  const Policy& start() const override { return start_; }
  const Policy& first_policy(bool) const override { return first_; }
  const Policy& baseline_policy() const override { return start_; }
  std::int64_t batch_rows(int batch) const override { return batches_.rows(batch); }

  std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const override {
    if (logging_policy.rule) return rule_batch(*logging_policy.rule, batch);
    SimulateOptions options;
    options.rows = batches_.rows(batch);
    options.first_row = batches_.begin(batch);
    options.rollout_key.seed = seed_;
    options.label_propensity = schema_.label_propensity;
    return std::make_unique<SimulatedSource>(environment_, logging_policy.policy, "the deployed policy", options);
  }

  std::unique_ptr<Source> regenerated_batches(const std::vector<LoggingPolicy>& logging_policies) const override {
    SimulateOptions options;
    options.rollout_key.seed = seed_;
    options.label_propensity = schema_.label_propensity;
    std::vector<PolicySegment> segments;
    for (const LoggingPolicy& logging_policy : logging_policies) {
      const std::int64_t rows = batches_.rows(static_cast<int>(segments.size()));
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
    const auto target = make_target_policy(policy, schema_, "the tested policy");
    PolicyScratch scratch, scores;
    BlockBuffer actions(schema_);
    double sum = 0;
    std::int64_t count = 0;
    for (const TestBlock& block : test_) {
      double* mean = scores.columns(0, std::max(1, schema_.num_actions));
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
    BlockBuffer actions(schema_);
    const bool explores = environment_->action_kind() == ActionKind::multilabel && start_.epsilon > 0;
    PolicyScratch columns;
    double plain = 0, mixed = 0;
    for (const TestBlock& block : test_) {
      const Block view = actions.view(block.drawn.first_row, block.rows);
      rule(block.buffer.view(block.drawn.first_row, block.rows), actions);
      plain += summed_losses(block, view, actions);
      if (!explores) continue;
      // Scores as good as certain make the policy that is the rule mixed with ε.
      double* scores = columns.columns(0, schema_.num_actions);
      for (int i = 0; i < schema_.num_actions * kBlockRows; ++i)
        scores[i] = actions.bits()[i] != 0 ? kCertainScore : -kCertainScore;
      for (int d = 0; d < kTestDraws; ++d) mixed += drawn_losses(start_, block, scores, d, actions) / kTestDraws;
    }
    return {(explores ? mixed : plain) / kTestRows, plain / kTestRows};
  }

  std::optional<double> optimum() const override {
    const std::optional<Policy> best = environment_->best_policy();
    return best ? std::optional(test_loss(*best)) : std::nullopt;
  }

  Policy skyline() const override {
    if (environment_->action_kind() != ActionKind::continuous) {
      throw Error(ErrorKind::run,
                  "the right answers are not defined here, so there is no skyline; leave the method out");
    }
    const auto features = environment_->features();
    std::vector<double> x(static_cast<std::size_t>(kSkylineRows * features)), y;
    std::vector<double> context(static_cast<std::size_t>(features) * kBlockRows),
        state(static_cast<std::size_t>(environment_->state_columns()) * kBlockRows), optimal(kBlockRows);
    for (std::int64_t first = 0; first < kSkylineRows; first += kBlockRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, kSkylineRows - first));
      const EnvironmentRows drawn{{seed_, kSkylineRollout}, first, rows, context.data(), state.data()};
      environment_->draw(drawn);
      environment_->optimal_actions(drawn, optimal.data());
      for (int i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < features; ++j) {
          x[static_cast<std::size_t>((first + i) * features + j)] =
              context[static_cast<std::size_t>(j * kBlockRows + i)];
        }
        y.push_back(optimal[static_cast<std::size_t>(i)]);
      }
    }
    Policy policy = start_;
    policy.scale = 0;
    policy.theta = fit_ridge(x, features, y, kSkylinePenalties).beta;
    return policy;
  }

 private:
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
    for (int i = 0; i < block.rows; ++i) sums[i % 4] += loss[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  /// Rows that a rule acts on are held: it may learn on while they are read.
  std::unique_ptr<Source> rule_batch(const ActionRule& rule, int batch) const {
    auto source = std::make_unique<MemorySource>(schema_);
    std::vector<double> state(static_cast<std::size_t>(environment_->state_columns()) * kBlockRows);
    for (std::int64_t done = 0; done < batches_.rows(batch); done += kBlockRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, batches_.rows(batch) - done));
      auto buffer = std::make_unique<BlockBuffer>(schema_);
      const EnvironmentRows drawn{{seed_, 0}, batches_.begin(batch) + done, rows, buffer->context_f64(), state.data()};
      environment_->draw(drawn);
      const Block block = buffer->view(done, rows);
      rule(block, *buffer);
      record_unit_propensities(block, *buffer);
      environment_->losses(drawn, block, buffer->loss());
      source->append(std::move(buffer), rows);
    }
    return source;
  }

  BatchPlan batches_;
  std::shared_ptr<const Environment> environment_;
  Policy start_;
  Policy first_;
  std::uint64_t seed_;
  Schema schema_;
  std::vector<TestBlock> test_;
};

class SyntheticProblemFactory final : public ProblemFactory {
 public:
  explicit SyntheticProblemFactory(std::string name) : name_(std::move(name)), example_(make_environment(name_, {})) {}

  RunOptions defaults() const override { return example_->defaults(); }
  bool has_labels() const override { return false; }

  std::shared_ptr<const BanditProblem> make(std::uint64_t seed, const RunOptions& options) const override {
    EnvironmentOptions environment;
    environment.seed = seed;
    if (options.protocol == Protocol::published) environment.published = options.batches;
    return std::make_shared<SyntheticProblem>(make_environment(name_, environment), seed, options);
  }

  Schema schema(const RunOptions&) const override { return simulated_schema(*example_, {}); }
  std::size_t problem_bytes(const RunOptions& options) const override {
    const std::int64_t columns = example_->features() + example_->state_columns();
    const std::int64_t cached = std::min(kCachedRows, options.batches.begin(options.rollouts));
    return static_cast<std::size_t>((cached + kTestRows) * columns + kTestRows * (kTestDraws + 4)) * sizeof(double);
  }
  std::size_t row_bytes(const RunOptions&) const override {
    return block_buffer_bytes(simulated_schema(*example_, {})) / kBlockRows;
  }
  std::int64_t rows_before(int batch, const RunOptions& options) const override { return options.batches.begin(batch); }

 private:
  std::string name_;
  std::unique_ptr<Environment> example_;
};

}  // namespace

std::unique_ptr<ProblemFactory> make_synthetic_factory(const std::string& name) {
  return std::make_unique<SyntheticProblemFactory>(name);
}

}  // namespace scrm
