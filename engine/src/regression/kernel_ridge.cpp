#include "scrm/engine/kernel_ridge.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pass/parallel_indices.hpp"
#include "regression/kernel_system.hpp"
#include "regression/normal_equations.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// Below this the moments of features cost nothing worth a thought.
constexpr std::int64_t kSmallDimension = 512;
constexpr std::int64_t kDualRows = 20'000;
// Squares of larger ones, summed over rows, might overflow.
constexpr double kLargestValue = 1e140;
// Columns of a block of queries: as many as keep it in cache, but enough for matrix products.
constexpr std::int64_t kQueryDoubles = std::int64_t{1} << 18;
constexpr std::int64_t kMaxColumns = 512, kMinColumns = 16;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool fits(const KernelRidgeOptions& options, RidgeSolver solver) {
  KernelRidgeOptions forced = options;
  forced.solver = solver;
  return KernelRidge::bytes_needed(forced, options.expected_rows) <= options.memory;
}

void check_options(const KernelRidgeOptions& options) {
  check(options.kernel);
  if (!(options.lambda >= 0) || !std::isfinite(options.lambda)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("lambda is {}: it must not be negative; 0 gives the minimum-norm solution", options.lambda));
  }
  if (options.points < 1) throw Error(ErrorKind::usage, "a Nyström approximation needs at least one point");
  if (!(options.point_tolerance >= 0 && options.point_tolerance < 1)) {
    throw Error(ErrorKind::usage,
                fmt::format("the tolerance of inducing points is {}: it is a share, from 0 to below 1",
                            options.point_tolerance));
  }
}

std::unique_ptr<RidgeSystem> make_system(const KernelRidgeOptions& options) {
  switch (options.solver) {
    case RidgeSolver::primal:
      return make_primal(options);
    case RidgeSolver::dual:
      return make_dual(options);
    case RidgeSolver::iterative:
      return make_iterative(options);
    case RidgeSolver::automatic:
    case RidgeSolver::nystroem:
      break;
  }
  return options.kernel.power() > 0 ? make_powers(options) : make_nystroem(options);
}

/// k(s, s) bounds every value the state takes part in.
void check_sizes(const StateKernel& kernel, std::span<const double> states, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    double own = 0;
    kernel_diagonal(kernel, states.data() + i * kernel.width(), 1, &own);
    if (own <= kLargestValue) continue;
    throw Error(ErrorKind::data,
                fmt::format("the kernel's value of the state with itself is {}: scale the states", own), {.row = i});
  }
}

void check_memory(const KernelRidgeOptions& options, std::int64_t rows) {
  const std::size_t need = KernelRidge::bytes_needed(options, rows);
  if (need <= options.memory) return;
  constexpr double kMega = 1e-6;
  throw Error(
      ErrorKind::memory,
      fmt::format("kernel ridge on {} rows needs {:.0f} MB by the {} solver, and may use {:.0f} MB: allow more "
                  "memory{}",
                  rows, static_cast<double>(need) * kMega, to_string(options.solver),
                  static_cast<double>(options.memory) * kMega,
                  options.solver == RidgeSolver::nystroem ? " or use fewer points" : " or use the nystroem solver"));
}

}  // namespace

const char* to_string(RidgeSolver solver) noexcept {
  switch (solver) {
    case RidgeSolver::automatic:
      return "automatic";
    case RidgeSolver::primal:
      return "primal";
    case RidgeSolver::dual:
      return "dual";
    case RidgeSolver::iterative:
      return "iterative";
    case RidgeSolver::nystroem:
      return "nystroem";
  }
  return "";
}

void add_products(const double* columns, std::int64_t dimension, int count, int group, double factor, double* out) {
  const int d = static_cast<int>(dimension);
  for (int first = 0; first < count; first += group, out += 2 * group - 1) {
    const double* v = columns + first * dimension;
    for (int i = 0; i < group; ++i) {
      for (int j = i; j < group; ++j) {
        const double product = cblas_ddot(d, v + i * dimension, 1, v + j * dimension, 1);
        out[i + j] += (i == j ? factor : 2 * factor) * product;
      }
    }
  }
}

void prior_squares(const KernelRidgeOptions& options, const double* states, int n, double* out) {
  kernel_diagonal(options.kernel, states, n, out);
  for (int i = 0; i < n; ++i) out[i] /= options.lambda;
}

void prior_power_squares(const KernelRidgeOptions& options, const double* contexts, int n, double* out) {
  kernel_power_diagonal(options.kernel, contexts, n, out);
  for (int i = 0; i < n * (2 * options.kernel.power() + 1); ++i) out[i] /= options.lambda;
}

std::vector<double> sum_bit_weights(const StateKernel& kernel, std::span<const double> states,
                                    std::span<const double> coefficients) {
  const std::int64_t d = kernel.features;
  std::vector<double> out(at((1 + d) * (1 + kernel.actions)), 0.0);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const double* s = states.data() + static_cast<std::int64_t>(i) * kernel.width();
    for (std::int64_t k = 0; k <= kernel.actions; ++k) {
      const double factor = k == 0 ? coefficients[i] : coefficients[i] * s[d + k - 1];
      if (factor == 0) continue;
      double* to = out.data() + k * (1 + d);
      to[0] += factor;
      for (std::int64_t j = 0; j < d; ++j) to[1 + j] += factor * s[j];
    }
  }
  return out;
}

struct KernelRidge::State {
  KernelRidgeOptions options;
  std::unique_ptr<RidgeSystem> system;
  std::int64_t rows = 0;
  std::vector<double> bit_weights;
  GaussianExpansion expansion;

  /// What questions about many actions are answered from.
  void prepare() {
    if (options.kernel.kind == KernelKind::bits) bit_weights = system->bit_weights();
    if (options.kernel.kind == KernelKind::gaussian && options.kernel.actions == 1) expansion = system->expansion();
  }

  std::int64_t count(std::span<const double> states, std::span<double> out) const {
    if (states.size() == out.size() * at(options.kernel.width())) return static_cast<std::int64_t>(out.size());
    throw Error(ErrorKind::usage, fmt::format("{} numbers are not {} states of {} numbers", states.size(), out.size(),
                                              options.kernel.width()));
  }

  /// Calls work(first, count) for blocks of queries that become `columns` columns each.
  template <class Work>
  void by_blocks(std::int64_t queries, int columns, Work&& work) const {
    const std::int64_t height = std::max<std::int64_t>(system->dimension(), 1) * columns;
    const std::int64_t block = std::clamp(kQueryDoubles / height, kMinColumns, kMaxColumns);
    parallel_indices((queries + block - 1) / block,
                     [&](std::int64_t b) { work(b * block, static_cast<int>(std::min(block, queries - b * block))); });
  }

  /// Means as weights times columns; `columns` of them.
  void weigh(const std::vector<double>& basis, int columns, double* out) const {
    std::fill_n(out, columns, 0.0);
    const int d = static_cast<int>(system->dimension());
    if (d == 0) return;
    cblas_dgemv(CblasColMajor, CblasTrans, d, columns, 1.0, basis.data(), d, system->weights().data(), 1, 0.0, out, 1);
  }

  void query(std::span<const double> states, std::int64_t queries, double* means, double* widths) const {
    const bool with_width = widths != nullptr && options.lambda > 0;
    if (with_width && options.solver == RidgeSolver::iterative) {
      throw Error(ErrorKind::usage,
                  "the iterative solver knows means and no widths: use the primal, dual or nystroem solver");
    }
    if (widths != nullptr && !with_width) std::fill_n(widths, queries, 0.0);
    if (means == nullptr && !with_width) return;
    by_blocks(queries, 1, [&](std::int64_t first, int n) {
      const double* block = states.data() + first * options.kernel.width();
      std::vector<double> basis(at(system->dimension() * n));
      system->basis(block, n, basis.data());
      if (means != nullptr) weigh(basis, n, means + first);
      if (!with_width) return;
      double* squares = widths + first;
      system->squares(block, n, basis.data(), squares);
      // Where a state has been seen so often that nothing is left, rounding may go below zero.
      for (int i = 0; i < n; ++i) squares[i] = std::sqrt(std::max(squares[i], 0.0));
    });
  }
};

KernelRidge::KernelRidge(const KernelRidgeOptions& options) : state_(std::make_unique<State>()) {
  check_options(options);
  state_->options = options;
  state_->options.solver = choose(options);
  check_memory(state_->options, 0);
  state_->system = make_system(state_->options);
  state_->prepare();
}

KernelRidge::~KernelRidge() = default;
KernelRidge::KernelRidge(KernelRidge&&) noexcept = default;
KernelRidge& KernelRidge::operator=(KernelRidge&&) noexcept = default;

void KernelRidge::add(std::span<const double> states, std::span<const double> y) {
  State& state = *state_;
  const std::int64_t width = state.options.kernel.width();
  if (states.size() != y.size() * at(width)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} numbers are not {} states of {} numbers", states.size(), y.size(), width));
  }
  const auto wrong = [](double v) { return !std::isfinite(v); };
  if (const auto bad = std::find_if(y.begin(), y.end(), wrong); bad != y.end()) {
    throw Error(ErrorKind::data, fmt::format("the response is {}: leave the row out", *bad), {.row = bad - y.begin()});
  }
  if (const auto bad = std::find_if(states.begin(), states.end(), wrong); bad != states.end()) {
    const std::int64_t position = bad - states.begin();
    throw Error(ErrorKind::data, fmt::format("number {} of the state is {}: leave the row out", position % width, *bad),
                {.row = position / width});
  }
  check_sizes(state.options.kernel, states, static_cast<std::int64_t>(y.size()));
  const std::int64_t rows = state.rows + static_cast<std::int64_t>(y.size());
  if (rows > std::numeric_limits<std::int32_t>::max() && state.options.solver != RidgeSolver::primal) {
    throw Error(ErrorKind::usage, fmt::format("{} rows are too many for this solver", rows));
  }
  check_memory(state.options, rows);
  state.system->add(states, y);
  const std::vector<double>& weights = state.system->weights();
  if (std::any_of(weights.begin(), weights.end(), wrong)) {
    throw Error(ErrorKind::data, "responses are so large that their products overflow: scale them");
  }
  state.rows = rows;
  state.prepare();
}

void KernelRidge::mean(std::span<const double> states, std::span<double> out) const {
  state_->query(states, state_->count(states, out), out.data(), nullptr);
}

void KernelRidge::width(std::span<const double> states, std::span<double> out) const {
  state_->query(states, state_->count(states, out), nullptr, out.data());
}

void KernelRidge::mean_and_width(std::span<const double> states, std::span<double> means,
                                 std::span<double> widths) const {
  state_->count(states, widths);
  state_->query(states, state_->count(states, means), means.data(), widths.data());
}

void KernelRidge::action_polynomials(std::span<const double> contexts, std::int64_t count, std::span<double> means,
                                     std::span<double> squares) const {
  const State& state = *state_;
  const StateKernel& kernel = state.options.kernel;
  const int p = kernel.power();
  const std::int64_t last = kernel.width() - 1;
  if (p == 0)
    throw Error(ErrorKind::usage, "means are polynomials of the action for linear and polynomial kernels only");
  if (contexts.size() != at(count * last) || means.size() != at(count * (p + 1)) ||
      (!squares.empty() && squares.size() != at(count * (2 * p + 1)))) {
    throw Error(ErrorKind::usage, fmt::format("{} contexts of {} numbers do not fit the arrays given", count, last));
  }
  const bool with_width = !squares.empty() && state.options.lambda > 0;
  std::fill(squares.begin(), squares.end(), 0.0);
  state.by_blocks(count, p + 1, [&](std::int64_t first, int n) {
    const double* block = contexts.data() + first * last;
    std::vector<double> basis(at(state.system->dimension() * n * (p + 1)));
    state.system->power_basis(block, n, basis.data());
    state.weigh(basis, n * (p + 1), means.data() + first * (p + 1));
    if (with_width) state.system->power_squares(block, n, basis.data(), squares.data() + first * (2 * p + 1));
  });
}

void KernelRidge::grid_means(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
                             std::span<double> out) const {
  const StateKernel& kernel = state_->options.kernel;
  if (kernel.kind != KernelKind::gaussian || kernel.actions != 1) {
    throw Error(ErrorKind::usage, "means on a grid of actions need the gaussian kernel and one action a state");
  }
  if (contexts.size() != at(count * kernel.features) || out.size() != at(count) * actions.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} contexts of {} numbers do not fit the arrays given", count, kernel.features));
  }
  state_->expansion.sums(contexts, count, actions, out);
}

void KernelRidge::bit_coefficients(std::span<const double> contexts, std::int64_t count, std::span<double> out) const {
  const StateKernel& kernel = state_->options.kernel;
  if (kernel.kind != KernelKind::bits) throw Error(ErrorKind::usage, "coefficients of bits need the bits kernel");
  const int d = static_cast<int>(kernel.features), k = static_cast<int>(1 + kernel.actions);
  if (contexts.size() != at(count * d) || out.size() != at(count * k)) {
    throw Error(ErrorKind::usage, fmt::format("{} contexts of {} numbers do not fit the arrays given", count, d));
  }
  const std::vector<double>& weights = state_->bit_weights;
  constexpr std::int64_t kRows = 256;
  parallel_indices((count + kRows - 1) / kRows, [&](std::int64_t b) {
    const std::int64_t first = b * kRows;
    const int n = static_cast<int>(std::min(kRows, count - first));
    double* to = out.data() + first * k;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < k; ++j) to[i * k + j] = weights[at(static_cast<std::int64_t>(j) * (1 + d))];
    }
    if (d == 0) return;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, k, n, d, 1.0, weights.data() + 1, 1 + d,
                contexts.data() + first * d, d, 1.0, to, k);
  });
}

double KernelRidge::lambda() const noexcept {
  return state_->options.lambda;
}

RidgeSolver KernelRidge::solver() const noexcept {
  return state_->options.solver;
}

std::int64_t KernelRidge::rows() const noexcept {
  return state_->rows;
}

std::int64_t KernelRidge::dimension() const noexcept {
  return state_->system->dimension();
}

double KernelRidge::trace_error() const noexcept {
  return state_->system->trace_error();
}

std::size_t KernelRidge::bytes() const noexcept {
  return state_->system->bytes();
}

std::size_t KernelRidge::bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) {
  switch (choose(options)) {
    case RidgeSolver::primal:
      return NormalEquations::bytes_needed(feature_dimension(options.kernel).value_or(0), options.lambda);
    case RidgeSolver::dual:
      return dual_bytes_needed(options, rows);
    case RidgeSolver::iterative:
      return iterative_bytes_needed(options, rows);
    case RidgeSolver::automatic:
    case RidgeSolver::nystroem:
      break;
  }
  return options.kernel.power() > 0 ? powers_bytes_needed(options, rows) : nystroem_bytes_needed(options, rows);
}

std::int64_t KernelRidge::max_dimension(const KernelRidgeOptions& options, std::int64_t rows) {
  switch (choose(options)) {
    case RidgeSolver::primal:
    case RidgeSolver::iterative:
      return feature_dimension(options.kernel).value_or(0);
    case RidgeSolver::dual:
      return rows;
    case RidgeSolver::automatic:
    case RidgeSolver::nystroem:
      break;
  }
  return options.kernel.power() > 0 ? powers_dimension(options) : std::min(rows, options.points);
}

RidgeSolver KernelRidge::choose(const KernelRidgeOptions& options) {
  const std::optional<std::int64_t> dimension = feature_dimension(options.kernel);
  if (options.solver == RidgeSolver::primal && !dimension) {
    throw Error(ErrorKind::usage, "the gaussian kernel has no finite feature map: use the dual or nystroem solver");
  }
  const bool iterable = options.kernel.kind == KernelKind::bits && options.lambda > 0;
  if (options.solver == RidgeSolver::iterative && !iterable) {
    throw Error(ErrorKind::usage,
                "the iterative solver is for the bits kernel with a lambda above zero: use the primal solver");
  }
  if (options.solver != RidgeSolver::automatic) return options.solver;
  if (iterable && std::min(*dimension, options.expected_rows) > kMaxWidthDimension) return RidgeSolver::iterative;
  if (dimension && *dimension <= std::max(options.expected_rows, kSmallDimension) &&
      fits(options, RidgeSolver::primal)) {
    return RidgeSolver::primal;
  }
  if (options.expected_rows <= kDualRows && fits(options, RidgeSolver::dual)) return RidgeSolver::dual;
  return RidgeSolver::nystroem;
}

}  // namespace scrm
