#include <algorithm>
#include <cmath>

#include "reinforcement/actions/action_distribution.hpp"
#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {
namespace {

// Rows at a time: what is worked out of them stays in L1.
constexpr int kTile = 128;

/// What there is to say about outcomes of bits, given their log-odds t before ε is mixed in.
struct Outcomes {
  double probability[kTile];      ///< q = (1 − ε) logistic(t) + ε/2
  double log_probability[kTile];  ///< its logarithm
  double slope[kTile];            ///< ∂q/∂t
  double log_slope[kTile];        ///< ∂ log q/∂t
};

class BitActions final : public ActionDistribution {
 public:
  BitActions(int labels, double epsilon) : labels_(labels), epsilon_(epsilon) {}

  int outputs() const noexcept override { return labels_; }
  int action_width() const noexcept override { return labels_; }

  void log_probability(const ScoreColumns& at, const double* actions, double* out) const override {
    std::fill_n(out, at.rows, 0.0);
    for_each_tile(at.rows, [&](std::int64_t first, std::int64_t row, int count) {
      const Outcomes played = outcomes(at.scores + first, actions + first, count);
      for (int i = 0; i < count; ++i) out[row + i] += played.log_probability[i];
    });
  }

  void add_log_gradient(const ScoreColumns& at, const double* actions, const double* weights,
                        ScoreGradient& out) const override {
    for_each_tile(at.rows, [&](std::int64_t first, std::int64_t row, int count) {
      const Outcomes played = outcomes(at.scores + first, actions + first, count);
      for (int i = 0; i < count; ++i) {
        const double sign = actions[first + i] != 0 ? 1 : -1;
        out.scores[first + i] += sign * weights[row + i] * played.log_slope[i];
      }
    });
  }

  double entropy(const ScoreColumns& at) const override {
    double sum = 0;
    for_each_tile(at.rows, [&](std::int64_t first, std::int64_t, int count) {
      const Outcomes one = ones(at.scores + first, count), zero = zeros(at.scores + first, count);
      for (int i = 0; i < count; ++i) {
        sum -= one.probability[i] * one.log_probability[i] + zero.probability[i] * zero.log_probability[i];
      }
    });
    return sum;
  }

  void add_entropy_gradient(const ScoreColumns& at, double weight, ScoreGradient& out) const override {
    for_each_tile(at.rows, [&](std::int64_t first, std::int64_t, int count) {
      const Outcomes one = ones(at.scores + first, count), zero = zeros(at.scores + first, count);
      for (int i = 0; i < count; ++i) {
        out.scores[first + i] -= weight * one.slope[i] * (one.log_probability[i] - zero.log_probability[i]);
      }
    });
  }

  double divergence(const ScoreColumns& old_policy, const ScoreColumns& new_policy) const override {
    double sum = 0;
    for_each_tile(old_policy.rows, [&](std::int64_t first, std::int64_t, int count) {
      const double *before = old_policy.scores + first, *now = new_policy.scores + first;
      const Outcomes old_one = ones(before, count), old_zero = zeros(before, count);
      const Outcomes new_one = ones(now, count), new_zero = zeros(now, count);
      for (int i = 0; i < count; ++i) {
        sum += old_one.probability[i] * (old_one.log_probability[i] - new_one.log_probability[i]) +
               old_zero.probability[i] * (old_zero.log_probability[i] - new_zero.log_probability[i]);
      }
    });
    return sum;
  }

  void fisher_product(const ScoreColumns& at, double* direction) const override {
    for_each_tile(at.rows, [&](std::int64_t first, std::int64_t, int count) {
      const Outcomes one = ones(at.scores + first, count), zero = zeros(at.scores + first, count);
      // q'²/(q(1 − q)), as a product that stays right where a probability vanishes.
      for (int i = 0; i < count; ++i) direction[first + i] *= one.log_slope[i] * zero.log_slope[i];
    });
  }

 private:
  /// Calls f(place in the columns, row, count) for all scores, tile by tile.
  template <class Function>
  void for_each_tile(std::int64_t rows, const Function& f) const {
    for (std::int64_t k = 0; k < labels_; ++k) {
      for (std::int64_t row = 0; row < rows; row += kTile) {
        f(k * rows + row, row, static_cast<int>(std::min<std::int64_t>(kTile, rows - row)));
      }
    }
  }

  Outcomes ones(const double* scores, int count) const { return outcomes(scores, nullptr, count, 1); }
  Outcomes zeros(const double* scores, int count) const { return outcomes(scores, nullptr, count, 0); }

  /// Of the bits that `bits` has, or of `bit` in all rows.
  Outcomes outcomes(const double* scores, const double* bits, int count, double bit = 0) const {
    Outcomes out;
    double odds[kTile], shrunk[kTile] = {};
    for (int i = 0; i < count; ++i) {
      odds[i] = (bits != nullptr ? bits[i] : bit) != 0 ? scores[i] : -scores[i];
      shrunk[i] = -std::abs(odds[i]);
    }
    exp_array(shrunk, shrunk, count);
    for (int i = 0; i < count; ++i) {
      const double small = shrunk[i] / (1 + shrunk[i]), large = 1 / (1 + shrunk[i]);
      const double logistic = odds[i] < 0 ? small : large, other = odds[i] < 0 ? large : small;
      out.probability[i] = (1 - epsilon_) * logistic + epsilon_ / 2;
      out.slope[i] = (1 - epsilon_) * logistic * other;
      // Without ε the quotient slope/q is `other`, whatever underflows.
      out.log_slope[i] = epsilon_ > 0 ? out.slope[i] / out.probability[i] : other;
      out.log_probability[i] = epsilon_ > 0 ? out.probability[i] : 1 + shrunk[i];
    }
    log_array(out.log_probability, out.log_probability, count);
    if (epsilon_ > 0) return out;
    for (int i = 0; i < count; ++i) out.log_probability[i] = std::min(odds[i], 0.0) - out.log_probability[i];
    return out;
  }

  int labels_;
  double epsilon_;
};

}  // namespace

std::unique_ptr<ActionDistribution> make_bit_actions(int labels, double epsilon) {
  return std::make_unique<BitActions>(labels, epsilon);
}

}  // namespace scrm
