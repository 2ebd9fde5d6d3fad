/// KernelRidge: kernel ridge regression of states (context, action) that grows batch by batch and answers means and
/// posterior widths of many states at once, and the best of many actions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace scrm {

enum class KernelKind {
  linear,      ///< s·s' + 1
  polynomial,  ///< (s·s' + 1)^degree
  gaussian,    ///< exp(−|s − s'|²/(2 length²))
  bits,        ///< (x·x' + 1)(a·a' + 1): the labels share nothing but the context
};

/// A state is one row: `features` numbers of the context, then `actions` numbers of the action.
struct StateKernel {
  KernelKind kind = KernelKind::linear;
  std::int64_t features = 0;
  std::int64_t actions = 1;  ///< 1, or as many as there are bits
  int degree = 2;            ///< polynomial
  double length = 0.1;       ///< gaussian

  std::int64_t state_size() const noexcept { return features + actions; }
  /// Degree of k(s, ·) as a polynomial in the state's last number; 0 for kernels that are none.
  int power() const noexcept;
};

enum class RidgeSolver {
  automatic,
  primal,  ///< exact in feature space: time n D², memory D², where the kernel has a feature map of length D
  conjugate_gradient,  ///< bits, λ > 0, means alone: time n D and memory n (features + actions)
  /// Any kernel: time n points², memory points² and the rows. Polynomials: see below. Where all states are points (no
  /// number given; λ > 0 or the gaussian kernel), by the Cholesky factor of their kernel matrix: time n³/3.
  inducing_points,
};

/// Up to this dimension a width under the bits kernel, dimension² operations, is worth asking for.
inline constexpr std::int64_t kMaxWidthDimension = 4096;

struct KernelRidgeOptions {
  StateKernel kernel;
  double lambda = 1;  ///< ≥ 0; 0 is the least-squares solution of least norm
  RidgeSolver solver = RidgeSolver::automatic;
  // What solvers are chosen by, and memory is counted with.
  std::int64_t expected_rows = 10'000;  ///< of all batches together
  std::int64_t replays = 1;             ///< rows that follow each other with the same context
  // Inducing points: every batch offers its states (at most max(2048, 4 · points) of it, in even steps). The one with
  // the largest residual k(s, s) − |φ(s)|² is taken, again and again, until there are `points` of them, or the
  // residuals of the states offered average to at most point_tolerance of λ and of k(s, s), or none exceeds 1e-13 of
  // the largest k(s, s), which is rounding. Points are never dropped. Without a number of points all states become
  // points, as far as rounding can tell them apart, and nothing is approximated.
  //
  // Of (s·s' + 1)^p = Σ_j C(p, j) (a a')^(p−j) (x·x' + 1)^j, s = (x, a), only the powers j ≥ 2 of contexts have
  // points, contexts each of its own, and not even they where their monomials are as few.
  std::optional<std::int64_t> points;
  double point_tolerance = 1e-9;
};

class FeatureRidge;

/// With S the states added so far, K their kernel matrix and k(s) their kernel values with s:
///   mean(s)   = k(s)ᵀ (K + λI)⁻¹ y
///   width²(s) = (k(s, s) − k(s)ᵀ (K + λI)⁻¹ k(s)) / λ
/// For λ = 0 the mean is the minimum-norm interpolation or least-squares fit, and width is 0: nothing that plays by the
/// mean alone asks for it. Without rows the mean is 0. Inducing points read k as φ(s)·φ(s') plus, for s = s' alone,
/// what φ leaves of k(s, s). Results are the same bits at any number of threads. Queries may run concurrently.
///
/// Powers of the action are kept apart, so that an action that counts to millions under a polynomial kernel leaves the
/// context its digits; only what no row tells of a feature with such an action is as wide as rounding leaves it, rather
/// than λ.
class KernelRidge {
 public:
  /// Throws Error (usage) for λ < 0 and kernels that cannot be.
  explicit KernelRidge(const KernelRidgeOptions& options);
  ~KernelRidge();
  KernelRidge(KernelRidge&&) noexcept;
  KernelRidge& operator=(KernelRidge&&) noexcept;

  /// Adds a batch: rows of kernel.state_size() numbers, and a response each. Throws Error for numbers that are not
  /// finite (with the row, counted within the batch), and where λ is too small for the matrix to be solved; after the
  /// latter the object is of no further use.
  void add(std::span<const double> states, std::span<const double> y);

  /// One number a state.
  void mean(std::span<const double> states, std::span<double> out) const;
  /// Both at the price of the width.
  void mean_and_width(std::span<const double> states, std::span<double> means, std::span<double> widths) const;

  /// Linear and polynomial kernels: along the state's last number t, mean(x, t) = Σ_q t^q means[i (p + 1) + q] and
  /// width²(x, t) = Σ_q t^q squares[i (2p + 1) + q] for context i of state_size() − 1 numbers, p = kernel.power().
  /// `squares` may be empty. Scanning actions then costs no solve.
  void action_polynomials(std::span<const double> contexts, std::int64_t count, std::span<double> means,
                          std::span<double> squares) const;

  /// Bits kernel: mean(x, a) = c₀(x) + Σ_k a_k c_k(x), out[i (1 + actions) + k] = c_k(x_i): the best bits are those
  /// with c_k > 0 (or < 0 for losses), label by label.
  void bit_coefficients(std::span<const double> contexts, std::int64_t count, std::span<double> out) const;

  /// Bits kernel, bits of 0 and 1: out[i (1 + actions)] = width(x_i, bits_i), and out[i (1 + actions) + 1 + k] that
  /// with bit k flipped, for little more than the price of one where the solver is primal and the dimension at most
  /// kMaxWidthDimension.
  void flip_widths(std::span<const double> contexts, std::int64_t count, std::span<const double> bits,
                   std::span<double> out) const;

  /// Gaussian kernel: out[i actions.size() + g] = mean(context i, action g), at the price of one state a context. Sums
  /// over inducing points here, not over φ: where those are close to dependent, the last digits differ from mean's, by
  /// some 1e-9 of the largest answer.
  void grid_means(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
                  std::span<double> out) const;

  double lambda() const noexcept;
  RidgeSolver solver() const noexcept;
  std::int64_t rows() const noexcept;
  /// D, or inducing points so far and features beside them.
  std::int64_t dimension() const noexcept;
  /// Inducing points: trace(K − ΦΦᵀ)/trace(K) over all rows, for polynomials the largest of those of (x·x' + 1)^j,
  /// whatever the actions. What is rounding beside k(s, s) counts as 0.
  double trace_error() const noexcept;

  /// The options with what is automatic chosen. conjugate_gradient for the bits kernel with λ > 0 where rows and D
  /// exceed kMaxWidthDimension; else primal where D ≤ max(n, 512), n the expected contexts of polynomials and rows of
  /// other kernels; else inducing points: all states where n ≤ 8192, else 1000. Sizes alone decide, and not the
  /// machine's memory, since approximations have other numbers.
  static KernelRidgeOptions resolved(KernelRidgeOptions options);
  /// Held at most while adding up to `rows` rows, and the dimension then, with resolved(options).
  static std::size_t bytes_needed(const KernelRidgeOptions& options, std::int64_t rows);
  static std::int64_t max_dimension(const KernelRidgeOptions& options, std::int64_t rows);

 private:
  std::unique_ptr<FeatureRidge> ridge_;
};

/// Actions first, first + step, …, `count` of them.
struct ActionGrid {
  double first = 0, step = 1;
  std::int64_t count = 1;

  double action(std::int64_t index) const noexcept { return first + step * static_cast<double>(index); }
};

struct BestAction {
  std::int64_t index = 0;
  double value = 0;
};

/// The action t of the grid with the largest Σ_q t^q mean[q] + β √max(Σ_q t^q square[q], 0), the first of equals.
/// `square` may be empty. Exact: parts of the grid are left out only where a bound on the polynomials (Taylor's terms
/// around the middle, each at its largest) shows that they hold nothing better, so that 2^22 actions cost a few hundred
/// evaluations. Throws Error (usage) for an empty grid.
BestAction best_action(std::span<const double> mean, std::span<const double> square, double beta,
                       const ActionGrid& grid);

/// The same for `best.size()` contexts, whose coefficients follow each other as KernelRidge::action_polynomials gives
/// them, in parallel.
void best_actions(std::span<const double> means, std::span<const double> squares, double beta, const ActionGrid& grid,
                  std::span<BestAction> best);

}  // namespace scrm
