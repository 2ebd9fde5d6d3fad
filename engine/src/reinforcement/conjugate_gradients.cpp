#include "reinforcement/conjugate_gradients.hpp"

namespace scrm {

double dot(std::span<const double> a, std::span<const double> b) noexcept {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

std::vector<double> conjugate_gradients(const MatrixProduct& product, std::span<const double> b, int steps,
                                        double tolerance) {
  std::vector<double> x(b.size(), 0.0), residual(b.begin(), b.end()), direction = residual, product_of(b.size());
  double square = dot(residual, residual);
  for (int step = 0; step < steps && square > tolerance; ++step) {
    product(direction, product_of);
    const double length = square / dot(direction, product_of);
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] += length * direction[j];
      residual[j] -= length * product_of[j];
    }
    const double before = square;
    square = dot(residual, residual);
    for (std::size_t j = 0; j < x.size(); ++j) direction[j] = residual[j] + square / before * direction[j];
  }
  return x;
}

}  // namespace scrm
