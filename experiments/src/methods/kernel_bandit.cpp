#include "methods/kernel_bandit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

[[noreturn]] void fail_usage(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

void check(const Schema& schema, const StateSpace& space, const RunOptions& options) {
  const BanditOptions& bandit = options.bandit;
  if (schema.action_kind == ActionKind::categorical) {
    fail_usage("kernel bandits choose numbers or bits, and these actions are categories; leave the method out here");
  }
  if (space.labels == 0) return;
  if (!space.scalar_action()) {
    if (!bandit.kernel) return;
    fail_usage(
        "encoding = \"bits\" has a kernel of its own, (x.x' + 1)(a.a' + 1); leave kernel out, or use encoding = "
        "\"integer\"");
  }
  if (space.labels > kMaxIntegerLabels) {
    fail_usage(fmt::format("{} labels are too many for one integer, {} are the most; use encoding = \"bits\"",
                           space.labels, kMaxIntegerLabels));
  }
  if (space.kernel.power() == 0 && space.labels > kMaxEnumeratedLabels) {
    fail_usage(
        fmt::format("{} labels are 2^{} actions, which the gaussian kernel can only try one by one, for {} labels at "
                    "most; use kernel = \"polynomial\" or encoding = \"bits\"",
                    space.labels, space.labels, kMaxEnumeratedLabels));
  }
}

bool same_action(const StateSpace& space, BlockBuffer& a, BlockBuffer& b, int row) {
  if (space.labels == 0) return a.action()[row] == b.action()[row];
  for (std::int64_t k = 0; k < space.labels; ++k) {
    if (a.bits()[k * kBlockRows + row] != b.bits()[k * kBlockRows + row]) return false;
  }
  return true;
}

/// Rows of all batches, as the problem cuts them.
std::int64_t total_rows(const LearnerSetup& setup) {
  return setup.problem.shape().rows_before.at(static_cast<std::size_t>(setup.options.rollouts));
}

}  // namespace

StateSpace state_space(const BanditTraits& traits, const Schema& schema, const RunOptions& options) {
  StateSpace space;
  space.labels = schema.action_kind == ActionKind::multilabel ? schema.num_actions : 0;
  space.kernel.kind = options.bandit.kernel.value_or(traits.kernel);
  space.kernel.features = schema.features;
  space.kernel.degree = options.bandit.degree;
  space.kernel.length = options.bandit.length;
  if (space.labels > 0 && options.bandit.encoding == ActionEncoding::bits) {
    space.kernel.kind = KernelKind::bits;
    space.kernel.actions = space.labels;
  }
  return space;
}

KernelRidgeOptions ridge_options(const StateSpace& space, const Schema& schema, const RunOptions& options,
                                 double lambda, std::int64_t rows) {
  KernelRidgeOptions ridge;
  ridge.kernel = space.kernel;
  ridge.lambda = lambda;
  ridge.expected_rows = rows;
  ridge.replays = schema.replays;
  if (options.bandit.points) ridge.solver = RidgeSolver::inducing_points;
  ridge.points = options.bandit.points;
  return KernelRidge::resolved(ridge);
}

MethodResources bandit_resources(const BanditTraits& traits, const ProblemShape& shape, const RunOptions& options,
                                 const HyperParameters& parameters, int threads) {
  const StateSpace space = state_space(traits, shape.schema, options);
  const std::int64_t rows = shape.rows_before.at(static_cast<std::size_t>(options.rollouts));
  const std::int64_t last = shape.batch_rows(options.rollouts - 1);
  const KernelRidgeOptions ridge = ridge_options(space, shape.schema, options, parameters.lambda.value, rows);
  const std::int64_t dimension = KernelRidge::max_dimension(ridge, rows);
  MethodResources resources;
  // Integers that cannot be counted are refused when the run begins.
  if (space.scalar_action() && space.labels > kMaxIntegerLabels) return resources;
  resources.bytes = KernelRidge::bytes_needed(ridge, rows) + rule_bytes(space, dimension, threads) +
                    static_cast<std::size_t>(last * (space.kernel.state_size() + 1)) * sizeof(double);
  if (options.bandit.compare_points && ridge.points) {
    KernelRidgeOptions twice = ridge;
    *twice.points *= 2;
    resources.bytes += KernelRidge::bytes_needed(twice, rows) + rule_bytes(space, 2 * dimension, threads) +
                       static_cast<std::size_t>(rows * (space.kernel.state_size() + 1)) * sizeof(double);
  }
  // A row meets every pair of dimensions, an operation each: about what a byte costs that is read.
  resources.cost = static_cast<double>(rows) * static_cast<double>(dimension) * static_cast<double>(dimension);
  // Conjugate gradients take about a hundred steps instead.
  if (ridge.solver == RidgeSolver::conjugate_gradient) resources.cost = 100.0 * static_cast<double>(rows * dimension);
  if (ridge.points) {
    resources.hint = "set points, of which there are too many, to fewer";
  } else if (space.labels > 0 && space.scalar_action()) {
    resources.hint = "use encoding = \"bits\", or inducing points such as points = 1000";
  } else {
    resources.hint = "use inducing points, such as points = 1000";
  }
  return resources;
}

std::string without_numbers_or_bits(const ProblemFactory& environment, const RunOptions&) {
  return environment.action_kind == ActionKind::categorical
             ? "its actions are categories, and kernel bandits choose numbers or bits"
             : "";
}

KernelBandit::KernelBandit(const LearnerSetup& setup, const BanditTraits& traits)
    : problem_(setup.problem),
      options_(setup.options.bandit),
      rollouts_(setup.options.rollouts),
      traits_(traits),
      empty_policy_(setup.problem.start()),
      space_(state_space(traits, setup.problem.schema(), setup.options)) {
  empty_policy_.theta.clear();
  check(setup.problem.schema(), space_, setup.options);
  const double lambda = setup.runs.front().lambda.value;
  ridge_options_ = ridge_options(space_, setup.problem.schema(), setup.options, lambda, total_rows(setup));
  ridge_ = std::make_shared<KernelRidge>(ridge_options_);
}

double KernelBandit::beta(int batch) const {
  if (!traits_.optimistic) return 0;
  const std::int64_t n = options_.beta == BetaRule::rows ? ridge_->rows() : batch + 1;
  return n > 0 ? 1 / std::sqrt(static_cast<double>(n)) : 0;
}

bool KernelBandit::compares_points() const {
  return options_.compare_points && ridge_options_.points;
}

void KernelBandit::learn(Source& rows, int batch) {
  Batch added;
  added.states.reserve(static_cast<std::size_t>(rows.rows() * space_.kernel.state_size()));
  added.rewards.reserve(static_cast<std::size_t>(rows.rows()));
  const std::unique_ptr<BlockLoader> loader = rows.make_loader();
  Audit audit;
  for (std::int64_t b = 0; b < rows.blocks(); ++b) {
    const std::unique_ptr<BlockGroup> group = rows.fetch(b, 1);
    append_states(space_, rows.load(*group, b, *loader, audit), added.states, added.rewards);
  }
  try {
    ridge_->add(added.states, added.rewards);
  } catch (const Error& error) {
    // The ridge counts rows within the batch and does not know what a sweep calls its options.
    throw Error(error.kind(),
                fmt::format("batch {}: {} (lambda: bandit_lambdas; inducing points: points)", batch, error.what()));
  }
  rows_read_ += static_cast<double>(rows.rows());
  rule_ = std::make_shared<const ActionRule>(best_action_rule(ridge_, space_, beta(batch)));
  test_loss_ = problem_.test_loss(*rule_);
  if (!compares_points()) return;
  batches_.push_back(std::move(added));
  if (batch + 1 == rollouts_) changed_share_ = share_changed_by_twice_the_points(beta(batch));
}

double KernelBandit::share_changed_by_twice_the_points(double beta) const {
  KernelRidgeOptions twice = ridge_options_;
  *twice.points *= 2;
  const auto other = std::make_shared<KernelRidge>(twice);
  for (const Batch& batch : batches_) other->add(batch.states, batch.rewards);
  const ActionRule finer_rule = best_action_rule(other, space_, beta);
  std::atomic<std::int64_t> contexts = 0, changed = 0;
  // The test is what visits all test contexts: this rule acts as before, and asks the other beside.
  problem_.test_loss([&](const Block& block, BlockBuffer& actions) {
    BlockBuffer others(problem_.schema());
    (*rule_)(block, actions);
    finer_rule(block, others);
    contexts += block.rows;
    for (int i = 0; i < block.rows; ++i) changed += !same_action(space_, actions, others, i);
  });
  return contexts > 0 ? static_cast<double>(changed) / static_cast<double>(contexts) : 0;
}

std::map<std::string, double> KernelBandit::metrics(std::size_t) const {
  std::map<std::string, double> metrics = {{"loss_without_epsilon", test_loss_.without_epsilon},
                                           {"dimension", static_cast<double>(ridge_->dimension())},
                                           {"trace_error", ridge_->trace_error()}};
  if (changed_share_) metrics["changed_actions"] = *changed_share_;
  return metrics;
}

}  // namespace scrm
