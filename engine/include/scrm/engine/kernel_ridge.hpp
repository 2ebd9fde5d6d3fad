/// KernelRidge: kernel ridge regression that grows batch by batch and answers means and widths of many states at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scrm/engine/kernel_state.hpp"

namespace scrm {

enum class RidgeSolver {
  automatic,
  primal,     ///< exact in feature space: time n D², memory D², where the kernel has a feature map of length D
  dual,       ///< exact on rows: time n³/3, memory n²/2; the factor is extended by each batch
  iterative,  ///< bits, λ > 0, means alone: conjugate gradients, time n D and memory n (features + actions)
  /// Any kernel on `points` inducing states: time n points², memory points² and the rows. Polynomials: see below.
  nystroem,
};

/// Up to this dimension a width under the bits kernel, dimension² operations, is worth asking for.
inline constexpr std::int64_t kMaxWidthDimension = 4096;

/// A word, such as "primal".
const char* to_string(RidgeSolver solver) noexcept;

struct KernelRidgeOptions {
  StateKernel kernel;
  double lambda = 1;  ///< ≥ 0; 0 is the least-squares solution of least norm
  RidgeSolver solver = RidgeSolver::automatic;
  std::int64_t expected_rows = 10'000;        ///< of all batches together, for the choice of a solver
  std::size_t memory = std::size_t{4} << 30;  ///< bytes that must not be exceeded
  // Nyström: every batch offers its rows (at most max(2048, 4 · points) of it, in even steps) as inducing states. The
  // one with the largest residual k(s, s) − |φ(s)|² is taken, again and again, until there are `points` of them, or the
  // residuals of the rows offered average to at most point_tolerance of λ and of k(s, s), or none exceeds 1e-13 of the
  // largest k(s, s), which is rounding. Points are never dropped.
  //
  // Of (s·s' + 1)^p = Σ_j C(p, j) (a a')^(p−j) (x·x' + 1)^j, s = (x, a), only the powers j ≥ 2 of contexts are
  // approximated, each on `points` inducing contexts of its own, and not even they where their monomials are as few.
  std::int64_t points = 1000;
  double point_tolerance = 1e-9;
};

/// With S the states added so far, K their kernel matrix and k(s) their kernel values with s:
///   mean(s)   = k(s)ᵀ (K + λI)⁻¹ y
///   width²(s) = (k(s, s) − k(s)ᵀ (K + λI)⁻¹ k(s)) / λ
/// For λ = 0 the mean is the minimum-norm interpolation or least-squares fit, and width is 0: nothing that plays by the
/// mean alone asks for it. Without rows the mean is 0. The Nyström solver reads k as φ(s)·φ(s') plus, for s = s' alone,
/// what φ leaves of k(s, s). Results are the same bits at any number of threads. Queries may run concurrently.
///
/// The dual solver works with kernel values as they are: where k(s, s)/λ exceeds 1e15 (an action that counts to
/// millions under a polynomial kernel) what is left of the context is rounding. Primal and Nyström keep the powers of
/// the action apart and do not have this limit; only what no row tells of a feature with such an action is as wide as
/// rounding leaves it, rather than λ.
class KernelRidge {
 public:
  /// Throws Error (usage) for λ < 0 and kernels that cannot be, Error (memory) where no solver fits.
  explicit KernelRidge(const KernelRidgeOptions& options);
  ~KernelRidge();
  KernelRidge(KernelRidge&&) noexcept;
  KernelRidge& operator=(KernelRidge&&) noexcept;

  /// Adds a batch: rows of kernel.width() numbers, and a response each. Throws Error for numbers that are not finite
  /// (with the row, counted within the batch), for more rows than memory allows, and where λ is too small for the
  /// matrix to be solved; after the last two the object is of no further use.
  void add(std::span<const double> states, std::span<const double> y);

  /// One number a state.
  void mean(std::span<const double> states, std::span<double> out) const;
  void width(std::span<const double> states, std::span<double> out) const;
  /// Both at the price of the width.
  void mean_and_width(std::span<const double> states, std::span<double> means, std::span<double> widths) const;

  /// Linear and polynomial kernels: along the state's last number t, mean(x, t) = Σ_q t^q means[i (p + 1) + q] and
  /// width²(x, t) = Σ_q t^q squares[i (2p + 1) + q] for context i of kernel.width() − 1 numbers, p = kernel.power().
  /// `squares` may be empty. Scanning actions then costs no solve.
  void action_polynomials(std::span<const double> contexts, std::int64_t count, std::span<double> means,
                          std::span<double> squares) const;

  /// Bits kernel: mean(x, a) = c₀(x) + Σ_k a_k c_k(x), out[i (1 + actions) + k] = c_k(x_i): the best bits are those
  /// with c_k > 0 (or < 0 for losses), label by label.
  void bit_coefficients(std::span<const double> contexts, std::int64_t count, std::span<double> out) const;

  /// Gaussian kernel: out[i actions.size() + g] = mean(context i, action g), at the price of one state a context.
  /// Nyström sums over inducing states here, not over φ: where those are close to dependent, the last digits differ
  /// from mean's, by some 1e-9 of the largest answer.
  void grid_means(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
                  std::span<double> out) const;

  double lambda() const noexcept;
  RidgeSolver solver() const noexcept;
  std::int64_t rows() const noexcept;
  /// D, rows or inducing points so far.
  std::int64_t dimension() const noexcept;
  /// Nyström: trace(K − ΦΦᵀ)/trace(K) over all rows, for polynomials the largest of those of (x·x' + 1)^j, whatever the
  /// actions; 0 for the exact solvers.
  double trace_error() const noexcept;
  /// Held now, and held at most while adding up to `rows` rows with the solver named (automatic: the one chosen).
  std::size_t bytes() const noexcept;
  static std::size_t bytes_needed(const KernelRidgeOptions& options, std::int64_t rows);
  /// D, or rows or points at most, of the solver named.
  static std::int64_t max_dimension(const KernelRidgeOptions& options, std::int64_t rows);
  /// What automatic comes to: iterative for the bits kernel with λ > 0 where rows and D exceed kMaxWidthDimension,
  /// else primal where D ≤ max(expected_rows, 512) and it fits, else dual up to 20,000 rows where it fits, else
  /// Nyström.
  static RidgeSolver choose(const KernelRidgeOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scrm
