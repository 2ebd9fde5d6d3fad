#include <cmath>
#include <numbers>

#include "reinforcement/actions/action_distribution.hpp"

namespace scrm {
namespace {

/// a ~ N(score, σ²).
class GaussianActions final : public ActionDistribution {
 public:
  int outputs() const noexcept override { return 1; }
  int action_width() const noexcept override { return 1; }
  bool has_scale() const noexcept override { return true; }

  void log_probability(const ScoreColumns& at, const double* actions, double* out) const override {
    const double precision = std::exp(-at.log_scale);
    const double constant = -at.log_scale - std::log(2 * std::numbers::pi) / 2;
    for (std::int64_t i = 0; i < at.rows; ++i) {
      const double z = (actions[i] - at.scores[i]) * precision;
      out[i] = constant - z * z / 2;
    }
  }

  void add_log_gradient(const ScoreColumns& at, const double* actions, const double* weights,
                        ScoreGradient& out) const override {
    const double precision = std::exp(-at.log_scale);
    for (std::int64_t i = 0; i < at.rows; ++i) {
      const double z = (actions[i] - at.scores[i]) * precision;
      out.scores[i] += weights[i] * z * precision;
      out.log_scale += weights[i] * (z * z - 1);
    }
  }

  double entropy(const ScoreColumns& at) const override {
    return static_cast<double>(at.rows) * (at.log_scale + (std::log(2 * std::numbers::pi) + 1) / 2);
  }

  void add_entropy_gradient(const ScoreColumns& at, double weight, ScoreGradient& out) const override {
    out.log_scale += weight * static_cast<double>(at.rows);
  }

  double divergence(const ScoreColumns& old_policy, const ScoreColumns& new_policy) const override {
    const double precision = std::exp(-new_policy.log_scale);
    double squares = 0;
    for (std::int64_t i = 0; i < old_policy.rows; ++i) {
      const double shift = (old_policy.scores[i] - new_policy.scores[i]) * precision;
      squares += shift * shift;
    }
    // With d = log σ_old − log σ_new, σ's share (e^{2d} − 1)/2 − d, which would cancel for small d if written out.
    const double d = old_policy.log_scale - new_policy.log_scale;
    return squares / 2 + static_cast<double>(old_policy.rows) * (std::expm1(2 * d) / 2 - d);
  }

  void fisher_product(const ScoreColumns& at, double* direction) const override {
    const double information = std::exp(-2 * at.log_scale);
    for (std::int64_t i = 0; i < at.rows; ++i) direction[i] *= information;
  }
};

}  // namespace

std::unique_ptr<ActionDistribution> make_gaussian_actions() {
  return std::make_unique<GaussianActions>();
}

}  // namespace scrm
