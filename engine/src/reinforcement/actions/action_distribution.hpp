/// ActionDistribution: what scores mean for actions, with everything that policy gradients need of it in closed form.
#pragma once

#include <cstdint>
#include <memory>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// The parameters of π(·|x) for some rows: a column of scores for each output, and log σ of those that have one.
struct ScoreColumns {
  const double* scores = nullptr;
  std::int64_t rows = 0;
  double log_scale = 0;
};

/// Derivatives by the same.
struct ScoreGradient {
  double* scores = nullptr;
  double log_scale = 0;
};

/// Works on rows side by side; columns lie `rows` apart. Stateless: one object serves all threads.
class ActionDistribution {
 public:
  virtual ~ActionDistribution() = default;

  virtual int outputs() const noexcept = 0;       ///< scores of a row
  virtual int action_width() const noexcept = 0;  ///< numbers of an action, which have columns as scores do
  virtual bool has_scale() const noexcept { return false; }

  /// log π(a|x) of every row.
  virtual void log_probability(const ScoreColumns& at, const double* actions, double* out) const = 0;
  /// Adds the gradient of Σ_i weight_i log π(a_i|x_i).
  virtual void add_log_gradient(const ScoreColumns& at, const double* actions, const double* weights,
                                ScoreGradient& out) const = 0;
  /// Σ_i H(π(·|x_i)).
  virtual double entropy(const ScoreColumns& at) const = 0;
  /// Adds weight times its gradient.
  virtual void add_entropy_gradient(const ScoreColumns& at, double weight, ScoreGradient& out) const = 0;
  /// Σ_i KL(old ‖ new) of π(·|x_i).
  virtual double divergence(const ScoreColumns& old_policy, const ScoreColumns& new_policy) const = 0;
  /// Replaces a direction u in scores by F u, F the Fisher matrix of each row's scores.
  virtual void fisher_product(const ScoreColumns& at, double* direction) const = 0;
};

/// The Fisher information that a row has about log σ; none about log σ and its mean together.
inline constexpr double kLogScaleInformation = 2;

std::unique_ptr<ActionDistribution> make_gaussian_actions();
std::unique_ptr<ActionDistribution> make_bit_actions(int labels, double epsilon);
std::unique_ptr<ActionDistribution> make_softmax_actions(int actions, double epsilon);

}  // namespace scrm
