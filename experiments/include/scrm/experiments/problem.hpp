/// BanditProblem: one environment under one seed, as a learner meets it: batches of logs, and a test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scrm/engine/pass/source.hpp"
#include "scrm/experiments/run_options.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Names one action for each context: fills `action` or `bits` of the rows that `contexts` has, alike for rows that
/// share a context. Never called by two threads at once.
using ActionRule = std::function<void(const Block& contexts, BlockBuffer& actions)>;

/// The policy that logs a batch.
struct LoggingPolicy {
  Policy policy;
  bool learned = false;  ///< a policy that was learned here, as against the one the logs began with
  std::shared_ptr<const ActionRule> rule = {};  ///< where set, it acts in the policy's place, with propensity 1
};

struct RuleLoss {
  double loss = 0;             ///< compared as the losses of policies are: bits carry the ε of all methods
  double without_epsilon = 0;  ///< of the named actions as they are
};

/// What a problem's logs look like, known before it is made: runs are planned by it.
struct ProblemShape {
  Schema schema;                          ///< of every batch
  std::vector<std::int64_t> rows_before;  ///< rows of the batches before batch 0, 1, …, rollouts + 1
  std::size_t problem_bytes = 0;          ///< of the problem itself
  std::size_t row_bytes = 0;              ///< of each row that a learner holds

  std::int64_t batch_rows(int batch) const {
    return rows_before.at(static_cast<std::size_t>(batch) + 1) - rows_before.at(static_cast<std::size_t>(batch));
  }
};

/// Everything drawn depends on (environment, seed, batch, row) and the acting policy alone. One object serves all
/// threads.
class BanditProblem {
 public:
  explicit BanditProblem(ProblemShape shape) : shape_(std::move(shape)) {}
  virtual ~BanditProblem() = default;

  const ProblemShape& shape() const noexcept { return shape_; }
  const Schema& schema() const noexcept { return shape_.schema; }
  /// What learning starts from: kind, scale, ε and θ₀.
  virtual const Policy& start() const = 0;
  /// Who logs the first batch for a learner that deploys what it learns (`sequential`), or for one that does not.
  virtual const Policy& first_policy(bool sequential) const = 0;
  /// Who logs the later batches for a learner that does not deploy what it learns.
  virtual const Policy& baseline_policy() const = 0;

  /// The rows of one batch, acted by this policy.
  virtual std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const = 0;
  /// The batches 0, 1, …, each acted by its policy, as one source that holds no rows; null where there is no such.
  virtual std::unique_ptr<Source> regenerated_batches(const std::vector<LoggingPolicy>&) const { return nullptr; }

  /// Expected loss of the policy on rows kept apart.
  virtual double test_loss(const Policy& policy) const = 0;
  /// The same of a rule, which acts without noise.
  virtual RuleLoss test_loss(const ActionRule& rule) const = 0;
  /// Lowest expected loss on the same rows that a policy like start() can reach, where it is known.
  virtual std::optional<double> optimum() const { return std::nullopt; }

  /// What supervised learning makes of the right answers, which no other method sees. Only of factories that know them.
  virtual Policy skyline() const = 0;
  /// The majority of the right bits or classes (`majority`), or zero bits, whatever the context; none where there is no
  /// such.
  virtual std::optional<Policy> constant_policy(bool /*majority*/) const { return std::nullopt; }

 private:
  ProblemShape shape_;
};

/// An environment as a sweep uses it, its data read: what is said of it, and how the problem of a seed is made.
struct ProblemFactory {
  RunOptions defaults;  ///< what is done there, before a sweep file changes it
  /// With protocol = "published" or another estimator than that of `defaults`, where they are others.
  std::optional<RunOptions> published_defaults;
  ActionKind action_kind = ActionKind::continuous;
  bool knows_right_actions = false;  ///< so that there are skylines, and majorities of bits or classes
  std::string fingerprint;           ///< changes when the environment's data does; empty for those that draw their rows
  std::function<ProblemShape(const RunOptions&)> shape;
  std::function<std::shared_ptr<const BanditProblem>(std::uint64_t seed, const RunOptions&)> make;
};

/// The problems of that name: one of environments(), the path of a labelled data set, or the name of one, NAME.h5, in
/// `data_dir`. Looks for the files of named data sets there too; an Error names what is missing and where it may be
/// had. Labelled data is held in memory, of which it may take so many bytes (0: no limit).
ProblemFactory make_problem_factory(const std::string& name, const std::string& data_dir, std::size_t memory = 0);
/// Whether an environment's name is the path of a labelled data set: it has a slash or a dot.
bool is_path(const std::string& environment) noexcept;

}  // namespace scrm
