#include <algorithm>

#include "regression/kernel_system.hpp"
#include "regression/normal_equations.hpp"

namespace scrm {
namespace {

/// The basis is the feature map itself, so rows leave nothing behind but their moments.
class PrimalSystem : public RidgeSystem {
 public:
  explicit PrimalSystem(const KernelRidgeOptions& options)
      : kernel_(options.kernel), lambda_(options.lambda), features_(options.kernel), moments_(features_.dimension()) {
    moments_.solve(lambda_);
  }

  void add(std::span<const double> states, std::span<const double> y) override {
    if (has_true_bits(states)) {
      moments_.add_bits(y, states.data(), kernel_.features, kernel_.actions);
      return moments_.solve(lambda_);
    }
    moments_.add(y, [&](std::int64_t first, int count, double* out) {
      features_.fill(states.data() + first * kernel_.width(), count, out);
    });
    moments_.solve(lambda_);
  }

  std::int64_t dimension() const override { return features_.dimension(); }
  const std::vector<double>& weights() const override { return moments_.weights(); }
  void basis(const double* states, int n, double* out) const override { features_.fill(states, n, out); }
  void power_basis(const double* contexts, int n, double* out) const override {
    features_.fill_powers(contexts, n, out);
  }

  // k − kᵀ(K + λI)⁻¹k = λ φᵀ(ΦᵀΦ + λI)⁻¹φ: there is nothing to subtract from.
  void squares(const double*, int n, double* basis, double* out) const override {
    std::fill_n(out, n, 0.0);
    moments_.whiten(basis, n);
    add_products(basis, dimension(), n, 1, 1.0, out);
  }
  void power_squares(const double*, int n, double* basis, double* out) const override {
    const int powers = kernel_.power() + 1;
    std::fill_n(out, n * (2 * powers - 1), 0.0);
    for (int q = 0; q < powers; ++q) {
      // Only the first column is long: the others begin where few features are left.
      const std::int64_t begin = features_.power_begin(q);
      moments_.whiten_from(begin, basis + q * dimension() + begin, n, powers * dimension());
    }
    add_products(basis, dimension(), n * powers, powers, 1.0, out);
  }

  std::vector<double> bit_weights() const override { return moments_.weights(); }
  std::size_t bytes() const override { return moments_.bytes() + features_.bytes(); }

 private:
  /// Whether this is the bits kernel and every bit is 0 or 1, as it need not be.
  bool has_true_bits(std::span<const double> states) const {
    if (kernel_.kind != KernelKind::bits) return false;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i) % kernel_.width();
      if (column >= kernel_.features && states[i] != 0 && states[i] != 1) return false;
    }
    return true;
  }

  StateKernel kernel_;
  double lambda_;
  StateFeatures features_;
  NormalEquations moments_;
};

}  // namespace

std::unique_ptr<RidgeSystem> make_primal(const KernelRidgeOptions& options) {
  return std::make_unique<PrimalSystem>(options);
}

}  // namespace scrm
