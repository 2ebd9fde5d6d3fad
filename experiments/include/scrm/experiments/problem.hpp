/// BanditProblem: one environment under one seed, as a learner meets it: batches of logs, and a test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/source.hpp"
#include "scrm/experiments/run_options.hpp"
#include "scrm/io/block_buffer.hpp"
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

/// Everything drawn depends on (environment, seed, batch, row) and the acting policy alone. One object serves all
/// threads.
class BanditProblem {
 public:
  virtual ~BanditProblem() = default;

  /// Of every batch.
  virtual const Schema& schema() const = 0;
  /// What learning starts from: kind, scale, ε and θ₀.
  virtual const Policy& start() const = 0;
  /// Who logs the first batch for a learner that deploys what it learns (`sequential`), or for one that does not.
  virtual const Policy& first_policy(bool sequential) const = 0;
  /// Who logs the later batches for a learner that does not deploy what it learns.
  virtual const Policy& baseline_policy() const = 0;

  virtual std::int64_t batch_rows(int batch) const = 0;
  /// The rows of one batch, acted by this policy.
  virtual std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const = 0;
  /// The batches 0, 1, …, each acted by its policy, as one source that holds no rows; null where there is no such.
  virtual std::unique_ptr<Source> regenerated_batches(const std::vector<LoggingPolicy>& logging_policies) const;

  /// Expected loss of the policy on rows kept apart.
  virtual double test_loss(const Policy& policy) const = 0;
  /// The same of a rule, which acts without noise.
  virtual RuleLoss test_loss(const ActionRule& rule) const = 0;
  /// Lowest expected loss on the same rows that a policy like start() can reach, where it is known.
  virtual std::optional<double> optimum() const { return std::nullopt; }

  /// What supervised learning makes of the right answers, which no other method sees.
  virtual Policy skyline() const = 0;
  /// The right bits' majority (`majority`) or zeros, whatever the context; none where actions are not bits.
  virtual std::optional<Policy> constant_policy(bool majority) const;
};

/// ProblemFactory: an environment as a sweep names it; makes the problem of a seed.
class ProblemFactory {
 public:
  virtual ~ProblemFactory() = default;

  /// What the protocol says for this environment, before a sweep file changes it.
  virtual RunOptions defaults() const = 0;
  virtual std::shared_ptr<const BanditProblem> make(std::uint64_t seed, const RunOptions& options) const = 0;
  /// Whether actions are bits, so that constant policies make sense.
  virtual bool has_labels() const = 0;
  /// Something that changes when the environment's data does; empty for synthetic ones.
  virtual std::string fingerprint() const { return ""; }

  /// Of the rows that its problems log.
  virtual Schema schema(const RunOptions& options) const = 0;
  /// Bytes of a problem, and of each row that a learner holds.
  virtual std::size_t problem_bytes(const RunOptions& options) const = 0;
  virtual std::size_t row_bytes(const RunOptions& options) const = 0;
  /// Rows logged in the batches before this one.
  virtual std::int64_t rows_before(int batch, const RunOptions& options) const = 0;
};

/// The problems of that name: a synthetic environment, scene, yeast, tmc2007, or the path of a labelled data set. Looks
/// for the files of named data sets in `data_dir`; an Error names what is missing and where it may be had.
std::unique_ptr<ProblemFactory> make_problem_factory(const std::string& name, const std::string& data_dir);
/// Whether an environment's name is the path of a labelled data set: it has a slash or a dot.
bool is_path(const std::string& environment) noexcept;

}  // namespace scrm
