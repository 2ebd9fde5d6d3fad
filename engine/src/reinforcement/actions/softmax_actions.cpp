#include <algorithm>
#include <cmath>
#include <vector>

#include "reinforcement/actions/action_distribution.hpp"

namespace scrm {
namespace {

/// One row's probabilities: p = softmax(scores), q = (1 − ε) p + ε/K, and log q.
class Row {
 public:
  Row(int actions, double epsilon) : epsilon_(epsilon), p_(at(actions)), q_(at(actions)), log_q_(at(actions)) {}

  void set(const ScoreColumns& at_scores, std::int64_t row) {
    const auto score = [&](std::size_t k) {
      return at_scores.scores[static_cast<std::int64_t>(k) * at_scores.rows + row];
    };
    double top = score(0), sum = 0;
    for (std::size_t k = 1; k < p_.size(); ++k) top = std::max(top, score(k));
    for (std::size_t k = 0; k < p_.size(); ++k) sum += p_[k] = std::exp(score(k) - top);
    const double log_sum = std::log(sum), share = epsilon_ / static_cast<double>(p_.size());
    for (std::size_t k = 0; k < p_.size(); ++k) {
      p_[k] /= sum;
      q_[k] = (1 - epsilon_) * p_[k] + share;
      log_q_[k] = epsilon_ > 0 ? std::log(q_[k]) : score(k) - top - log_sum;
    }
  }

  double q(std::size_t k) const { return q_[k]; }
  double log_q(std::size_t k) const { return log_q_[k]; }

  /// ∂q/∂scores, which is symmetric, times the direction, in its place: (1 − ε) p (u − p·u).
  void multiply_slopes(std::vector<double>& u) const {
    double mean = 0;
    for (std::size_t k = 0; k < u.size(); ++k) mean += p_[k] * u[k];
    for (std::size_t k = 0; k < u.size(); ++k) u[k] = (1 - epsilon_) * p_[k] * (u[k] - mean);
  }
  /// ∂ log q_a/∂scores.
  void log_slopes(std::size_t a, std::vector<double>& out) const {
    // Without ε the quotient of slope and probability is known where both underflow.
    const double factor = epsilon_ > 0 ? (1 - epsilon_) * p_[a] / q_[a] : 1;
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = factor * ((k == a ? 1 : 0) - p_[k]);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  double epsilon_;
  std::vector<double> p_, q_, log_q_;
};

/// One of K categories.
class SoftmaxActions final : public ActionDistribution {
 public:
  SoftmaxActions(int actions, double epsilon) : actions_(actions), epsilon_(epsilon) {}

  int outputs() const noexcept override { return actions_; }
  int action_width() const noexcept override { return 1; }

  void log_probability(const ScoreColumns& at, const double* actions, double* out) const override {
    for_each_row(at, [&](std::int64_t i, const Row& row) { out[i] = row.log_q(static_cast<std::size_t>(actions[i])); });
  }

  void add_log_gradient(const ScoreColumns& at, const double* actions, const double* weights,
                        ScoreGradient& out) const override {
    std::vector<double> slopes(size());
    for_each_row(at, [&](std::int64_t i, const Row& row) {
      row.log_slopes(static_cast<std::size_t>(actions[i]), slopes);
      for (std::size_t k = 0; k < size(); ++k) out.scores[cell(at, i, k)] += weights[i] * slopes[k];
    });
  }

  double entropy(const ScoreColumns& at) const override {
    double sum = 0;
    for_each_row(at, [&](std::int64_t, const Row& row) {
      for (std::size_t k = 0; k < size(); ++k) sum -= row.q(k) > 0 ? row.q(k) * row.log_q(k) : 0;
    });
    return sum;
  }

  void add_entropy_gradient(const ScoreColumns& at, double weight, ScoreGradient& out) const override {
    std::vector<double> u(size());
    for_each_row(at, [&](std::int64_t i, const Row& row) {
      for (std::size_t k = 0; k < size(); ++k) u[k] = row.log_q(k);
      row.multiply_slopes(u);
      for (std::size_t k = 0; k < size(); ++k) out.scores[cell(at, i, k)] -= weight * u[k];
    });
  }

  double divergence(const ScoreColumns& old_policy, const ScoreColumns& new_policy) const override {
    double sum = 0;
    Row now(actions_, epsilon_);
    for_each_row(old_policy, [&](std::int64_t i, const Row& before) {
      now.set(new_policy, i);
      for (std::size_t k = 0; k < size(); ++k) {
        sum += before.q(k) > 0 ? before.q(k) * (before.log_q(k) - now.log_q(k)) : 0;
      }
    });
    return sum;
  }

  void fisher_product(const ScoreColumns& at, double* direction) const override {
    std::vector<double> u(size());
    for_each_row(at, [&](std::int64_t i, const Row& row) {
      for (std::size_t k = 0; k < size(); ++k) u[k] = direction[cell(at, i, k)];
      row.multiply_slopes(u);
      // Jᵀ diag(1/q) J u; without ε that is J u, where one factor p has cancelled.
      if (epsilon_ > 0) {
        for (std::size_t k = 0; k < size(); ++k) u[k] /= row.q(k);
        row.multiply_slopes(u);
      }
      for (std::size_t k = 0; k < size(); ++k) direction[cell(at, i, k)] = u[k];
    });
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(actions_); }
  static std::int64_t cell(const ScoreColumns& at, std::int64_t row, std::size_t k) {
    return static_cast<std::int64_t>(k) * at.rows + row;
  }

  template <class Function>
  void for_each_row(const ScoreColumns& at, const Function& f) const {
    Row row(actions_, epsilon_);
    for (std::int64_t i = 0; i < at.rows; ++i) {
      row.set(at, i);
      f(i, row);
    }
  }

  int actions_;
  double epsilon_;
};

}  // namespace

std::unique_ptr<ActionDistribution> make_softmax_actions(int actions, double epsilon) {
  return std::make_unique<SoftmaxActions>(actions, epsilon);
}

}  // namespace scrm
