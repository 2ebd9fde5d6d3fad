#include "scrm/engine/kernel_state.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/polynomial_terms.hpp"
#include "scrm/io/error.hpp"
#include "scrm/kernels/elementary.hpp"

namespace scrm {
namespace {

/// out = factor · (a_i · b_j) + start, of `length` numbers out of rows of `stride` numbers.
void dot_block(const double* a, std::int64_t a_stride, int na, const double* b, std::int64_t b_stride, int nb,
               std::int64_t length, double factor, double start, double* out, std::int64_t leading) {
  for (int j = 0; j < nb; ++j) std::fill_n(out + j * leading, na, start);
  if (length == 0 || na == 0 || nb == 0) return;
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, na, nb, static_cast<int>(length), factor, a,
              static_cast<int>(a_stride), b, static_cast<int>(b_stride), 1.0, out, static_cast<int>(leading));
}

constexpr double kLeastExponent = -700;

void raise(double* values, int n, int degree) {
  for (int i = 0; i < n; ++i) {
    const double base = values[i];
    double product = base;
    for (int q = 1; q < degree; ++q) product *= base;
    values[i] = product;
  }
}

/// Rows minus an origin, and half the square norms of what is left.
struct Centred {
  std::vector<double> rows, half_norm;

  Centred(const double* states, int n, std::int64_t width, const double* origin)
      : rows(static_cast<std::size_t>(n * width)), half_norm(static_cast<std::size_t>(n)) {
    for (int i = 0; i < n; ++i) {
      double* to = rows.data() + i * width;
      for (std::int64_t j = 0; j < width; ++j) to[j] = states[i * width + j] - origin[j];
      half_norm[static_cast<std::size_t>(i)] = 0.5 * square_norm(to, width);
    }
  }
};

void gaussian_block(const StateKernel& kernel, const double* a, int na, const double* b, int nb, double* out,
                    std::int64_t leading) {
  if (na == 0 || nb == 0) return;
  const std::int64_t width = kernel.width();
  const Centred left(a, na, width, a), right(b, nb, width, a);
  dot_block(left.rows.data(), width, na, right.rows.data(), width, nb, width, 1.0, 0.0, out, leading);
  const double scale = 1 / (kernel.length * kernel.length);
  for (int j = 0; j < nb; ++j) {
    double* column = out + j * leading;
    const double norm = right.half_norm[static_cast<std::size_t>(j)];
    for (int i = 0; i < na; ++i) {
      // Rounding may leave a distance below zero; and what is below 1e-304 would take the slow way to be no more.
      const double exponent = scale * (column[i] - norm - left.half_norm[static_cast<std::size_t>(i)]);
      column[i] = std::clamp(exponent, kLeastExponent, 0.0);
    }
    exp_array(column, column, na);
  }
}

void bits_block(const StateKernel& kernel, const double* a, int na, const double* b, int nb, double* out,
                std::int64_t leading) {
  const std::int64_t width = kernel.width(), d = kernel.features;
  dot_block(a, width, na, b, width, nb, d, 1.0, 1.0, out, leading);
  std::vector<double> actions(static_cast<std::size_t>(na) * static_cast<std::size_t>(nb));
  dot_block(a + d, width, na, b + d, width, nb, kernel.actions, 1.0, 1.0, actions.data(), na);
  for (int j = 0; j < nb; ++j) {
    const double* factor = actions.data() + static_cast<std::int64_t>(j) * na;
    for (int i = 0; i < na; ++i) out[i + j * leading] *= factor[i];
  }
}

}  // namespace

int StateKernel::power() const noexcept {
  if (kind == KernelKind::linear) return 1;
  return kind == KernelKind::polynomial ? degree : 0;
}

void check(const StateKernel& kernel) {
  if (kernel.features < 0 || kernel.actions < 1) {
    throw Error(ErrorKind::usage, fmt::format("a state of {} features and {} numbers of an action: an action has at "
                                              "least one",
                                              kernel.features, kernel.actions));
  }
  if (kernel.kind == KernelKind::polynomial && kernel.degree < 1) {
    throw Error(ErrorKind::usage, fmt::format("the kernel's degree is {}: it must be at least 1", kernel.degree));
  }
  if (kernel.kind == KernelKind::gaussian && !(kernel.length > 0 && std::isfinite(kernel.length))) {
    throw Error(ErrorKind::usage, fmt::format("the kernel's length is {}: it must be above zero", kernel.length));
  }
}

void kernel_block(const StateKernel& kernel, const double* a, int na, const double* b, int nb, double* out,
                  std::int64_t leading) {
  if (kernel.kind == KernelKind::gaussian) return gaussian_block(kernel, a, na, b, nb, out, leading);
  if (kernel.kind == KernelKind::bits) return bits_block(kernel, a, na, b, nb, out, leading);
  dot_block(a, kernel.width(), na, b, kernel.width(), nb, kernel.width(), 1.0, 1.0, out, leading);
  if (kernel.power() == 1) return;
  for (int j = 0; j < nb; ++j) raise(out + j * leading, na, kernel.degree);
}

void kernel_diagonal(const StateKernel& kernel, const double* states, int n, double* out) {
  const std::int64_t width = kernel.width(), d = kernel.features;
  for (int i = 0; i < n; ++i) {
    const double* s = states + i * width;
    switch (kernel.kind) {
      case KernelKind::gaussian:
        out[i] = 1;
        break;
      case KernelKind::bits:
        out[i] = (square_norm(s, d) + 1) * (square_norm(s + d, kernel.actions) + 1);
        break;
      case KernelKind::linear:
      case KernelKind::polynomial:
        out[i] = integer_power(square_norm(s, width) + 1, kernel.power());
        break;
    }
  }
}

void kernel_power_block(const StateKernel& kernel, const double* a, int na, const double* contexts, int nb, double* out,
                        std::int64_t leading) {
  const int p = kernel.power();
  const std::int64_t width = kernel.width(), last = width - 1;
  // The plain products go where power 0 will stand; the others are made from them, highest first.
  dot_block(a, width, na, contexts, last, nb, last, 1.0, 1.0, out, leading * (p + 1));
  for (int j = 0; j < nb; ++j) {
    double* base = out + static_cast<std::int64_t>(j) * (p + 1) * leading;
    for (int q = p; q >= 0; --q) {
      const double ways = binomial(p, q);
      for (int i = 0; i < na; ++i) {
        base[q * leading + i] = ways * integer_power(a[i * width + last], q) * integer_power(base[i], p - q);
      }
    }
  }
}

void kernel_power_diagonal(const StateKernel& kernel, const double* contexts, int n, double* out) {
  const int p = kernel.power();
  const std::int64_t last = kernel.width() - 1;
  std::fill_n(out, static_cast<std::int64_t>(n) * (2 * p + 1), 0.0);
  for (int j = 0; j < n; ++j) {
    const double base = square_norm(contexts + j * last, last) + 1;
    for (int q = 0; q <= p; ++q) out[j * (2 * p + 1) + 2 * q] = binomial(p, q) * integer_power(base, p - q);
  }
}

}  // namespace scrm
