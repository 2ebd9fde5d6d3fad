#include "regression/kernel_ridge/feature_ridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Features so few that no points are worth their while.
constexpr std::int64_t kFewFeatures = 512;
// What inducing points leave of k(s, s) counts from this share of it on; below is rounding.
constexpr double kRounding = 1e-12;
// Rows of the kernel matrix that are made at once.
constexpr std::int64_t kRowTile = 256;
// A pivot of the kernel matrix that is as good as none, where λ = 0.
constexpr double kLeastPivot = 1e-13;

double binomial(int n, int k) {
  double value = 1;
  for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return std::round(value);
}

/// (x·x' + 1 + a a')^p has the features √C(p, j) a^(p−j) ψ_j(x), ψ_j those of (x·x' + 1)^j. Highest powers of the
/// action come first, so that in the Cholesky factor numbers of the size a^(2p) are never subtracted from each other.
/// Other kernels are one term of the whole state. Without features or points yet.
std::vector<FeatureBlock> terms_of(const KernelRidgeOptions& options) {
  const StateKernel& kernel = options.kernel;
  const bool all = options.solver != RidgeSolver::inducing_points;
  const int p = kernel.power();
  if (p == 0) return {{.kernel = kernel, .finite = all}};
  const std::int64_t few = options.points.value_or(std::max(options.expected_rows / options.replays, kFewFeatures));
  std::vector<FeatureBlock> out;
  for (int j = 0; j <= p; ++j) {
    const StateKernel term{
        .kind = KernelKind::polynomial, .features = kernel.state_size() - 1, .actions = 0, .degree = j};
    const bool finite = all || j < 2 || feature_dimension(term).value() <= few;
    out.push_back({.kernel = term, .ways = binomial(p, j), .action_power = p - j, .finite = finite});
  }
  return out;
}

/// Whether rows are few enough to be solved by their kernel matrix. Without λ a kernel of finite rank has none to
/// solve.
bool is_dual(const KernelRidgeOptions& options) {
  return options.solver == RidgeSolver::inducing_points && !options.points && options.kernel.power() == 0 &&
         (options.lambda > 0 || options.kernel.kind == KernelKind::gaussian);
}

/// Whether widths of bits are by the inverse.
bool has_inverse(const KernelRidgeOptions& options) {
  return options.solver == RidgeSolver::primal && options.kernel.kind == KernelKind::bits && options.lambda > 0 &&
         feature_dimension(options.kernel).value() <= kMaxWidthDimension;
}

/// What may become points: contexts for polynomials, states for other kernels.
std::int64_t inputs_of(const KernelRidgeOptions& options, std::int64_t rows) {
  return options.kernel.power() > 0 ? (rows + options.replays - 1) / options.replays : rows;
}

/// Rows whose features are summed up at once where they need not be kept.
std::int64_t chunk_rows(const StateKernel& kernel) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << 21, kLeastRows = 1024;
  return std::max(kLeastRows, kNumbers / kernel.state_size());
}

}  // namespace

FeatureRidge::FeatureRidge(const KernelRidgeOptions& options)
    : options_(options),
      input_size_(options.kernel.state_size() - (options.kernel.power() > 0 ? 1 : 0)),
      exact_(true),
      dual_(is_dual(options)),
      blocks_(terms_of(options)) {
  for (FeatureBlock& block : blocks_) {
    exact_ = exact_ && block.finite;
    if (block.finite) block.features.emplace(block.kernel);
    if (!block.finite) block.points.emplace(block.kernel, options.points);
  }
  if (options.solver == RidgeSolver::conjugate_gradient) {
    gradients_.emplace(options);
  } else {
    place_blocks();
    solve();
  }
  find_bit_weights();
}

void FeatureRidge::solve() {
  equations_.solve(options_.lambda);
  if (has_inverse(options_)) inverse_ = equations_.inverse();
  for (FeatureBlock& block : blocks_) {
    if (!block.finite || !splits_action() || options_.lambda == 0) continue;
    block.axes = MatrixXd::Identity(dimension() - block.offset, block.size());
    equations_.whiten(block.axes);
  }
  if (!exact_ && !splits_action()) kernel_weights_ = blocks_.front().points->kernel_weights(weights());
}

std::int64_t FeatureRidge::dimension() const {
  if (gradients_) return blocks_.front().size();
  return dual_ ? factor_.rows() : equations_.dimension();
}

const VectorXd& FeatureRidge::weights() const {
  if (gradients_) return gradients_->weights();
  return dual_ ? kernel_weights_ : equations_.weights();
}

States FeatureRidge::centres() const {
  if (dual_) return inputs();
  return blocks_.front().points->states();
}

double FeatureRidge::trace_error() const {
  double most = 0;
  for (const FeatureBlock& block : blocks_) most = std::max(most, block.missed > 0 ? block.missed / block.trace : 0);
  return most;
}

std::int64_t FeatureRidge::max_dimension(const KernelRidgeOptions& options, std::int64_t rows) {
  if (options.solver != RidgeSolver::inducing_points) return feature_dimension(options.kernel).value();
  const std::int64_t points = options.points.value_or(inputs_of(options, rows));
  std::int64_t total = 0;
  for (const FeatureBlock& block : terms_of(options)) {
    const std::int64_t all = feature_dimension(block.kernel).value_or(points);
    total += block.finite ? all : std::min(all, points);
  }
  return total;
}

double FeatureRidge::bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) {
  if (options.solver == RidgeSolver::conjugate_gradient) return ConjugateGradient::bytes_needed(options, rows);
  const std::int64_t dimension = max_dimension(options, rows);
  // The factor and, while it grows, the one before.
  const auto square =
      static_cast<double>(sizeof(double)) * static_cast<double>(dimension) * static_cast<double>(dimension);
  double total = is_dual(options) ? 2 * square : NormalEquations::bytes_needed(dimension, options.lambda);
  if (has_inverse(options)) total += square;
  bool exact = true;
  for (const FeatureBlock& block : terms_of(options)) {
    exact = exact && block.finite;
    constexpr double kBytesAFeature = 64;  // of a map, while it is made
    if (block.finite) {
      const auto features = static_cast<double>(feature_dimension(block.kernel).value());
      total += kBytesAFeature * features;
      if (options.kernel.power() > 0) total += features * static_cast<double>(dimension) * sizeof(double);
    } else if (!is_dual(options)) {
      total += InducingPoints::bytes_needed(block.kernel.state_size(), options.points, inputs_of(options, rows));
    }
  }
  // Rows and inputs, which grow by halves, and what points leave of them.
  const auto per_row = static_cast<double>(2 * (options.kernel.state_size() + options.kernel.power()) + 10);
  const std::int64_t kept = exact ? std::min(rows, chunk_rows(options.kernel)) : rows;
  return total + static_cast<double>(kept) * per_row * sizeof(double);
}

void FeatureRidge::add(const States& states, const Responses& y) {
  const std::int64_t first_row = std::ssize(rows_), first_input = input_count();
  if (gradients_) {
    gradients_->add(states, y);
  } else if (exact_) {
    add_to_moments(states, y);
  } else {
    keep(states, y);
    dual_ ? add_to_kernel_matrix(first_input) : add_to_points(first_input, first_row);
  }
  count_ += y.size();
  find_bit_weights();
}

/// Rows leave nothing behind but their moments.
void FeatureRidge::add_to_moments(const States& states, const Responses& y) {
  const std::int64_t chunk = chunk_rows(options_.kernel);
  for (std::int64_t first = 0; first < y.size(); first += chunk) {
    const std::int64_t n = std::min(chunk, y.size() - first);
    keep(states.middleCols(first, n), y.segment(first, n));
    add_rows(0, std::ssize(rows_), 0);
    rows_.clear();
    inputs_.clear();
  }
  solve();
}

/// Rows that say the same count as one, √times as long: replays cost nothing then.
void FeatureRidge::keep(const States& states, const Responses& y) {
  const std::size_t begin = rows_.size();
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    const double* state = states.col(i).data();
    const double action = splits_action() ? state[input_size_] : 1.0;
    const bool same = rows_.size() > begin && std::equal(state, state + input_size_, inputs_.end() - input_size_);
    if (!same) inputs_.insert(inputs_.end(), state, state + input_size_);
    if (!same || rows_.back().action != action) rows_.push_back({input_count() - (same ? 1 : 0), action, 0, 0});
    rows_.back().times += 1;
    rows_.back().y += y[i];
  }
  for (std::size_t i = begin; i < rows_.size(); ++i) rows_[i].y /= std::sqrt(rows_[i].times);
}

void FeatureRidge::add_to_points(std::int64_t first_input, std::int64_t first_row) {
  const std::int64_t before = dimension();
  if (extend(first_input, first_row)) {
    // New points are new features of the old rows too. Those of the last block leave the others where they are.
    const bool appended = std::all_of(blocks_.begin(), blocks_.end() - 1, [](const auto& b) { return b.finite; });
    if (!appended) equations_ = NormalEquations(0);
    place_blocks();
    add_rows(0, first_row, appended ? before : 0);
  }
  add_rows(first_row, std::ssize(rows_), 0);
  solve();
}

/// Rows `first` on, by the kernel matrix and its Cholesky factor, which grows by as many.
void FeatureRidge::add_to_kernel_matrix(std::int64_t first) {
  const std::int64_t n = std::ssize(rows_);
  const auto times = of_rows(&Row::times, 0, n);
  // Rows that say the same leave λ = 0 nothing that passes through all of them.
  if (options_.lambda == 0 && (times > 1).any()) throw_repeated_states();
  factor_.conservativeResize(n, n);
  parallel_blocks(n - first, kRowTile, [&](std::int64_t block, std::int64_t height) {
    const std::int64_t row = first + block, width = row + height;
    kernel_values(options_.kernel, inputs().middleCols(row, height), inputs().leftCols(width),
                  factor_.block(row, 0, height, width));
  });
  factor_.diagonal().tail(n - first).array() += options_.lambda / times.tail(n - first);
  const double least = options_.lambda > 0 ? 0 : kLeastPivot;
  if (!parallel_cholesky(factor_, first) || !(factor_.diagonal().array().square() > least).all()) {
    if (options_.lambda == 0) throw_repeated_states();
    throw Error(ErrorKind::data, fmt::format("the kernel matrix of the states is singular to working precision with "
                                             "lambda = {}: raise lambda",
                                             options_.lambda));
  }
  kernel_weights_ = of_rows(&Row::y, 0, n) / times.sqrt();
  solve_cholesky(factor_, kernel_weights_);
}

bool FeatureRidge::extend(std::int64_t first_input, std::int64_t first_row) {
  bool grown = false;
  const auto actions = of_rows(&Row::action, first_row, std::ssize(rows_) - first_row);
  for (FeatureBlock& block : blocks_) {
    if (block.finite || actions.size() == 0) continue;
    // A residual acts like noise added to λ; what it weighs depends on the power of the action that goes with it.
    const double weight = block.ways * powers(actions, 2 * block.action_power).mean();
    grown |= block.points->extend(inputs().rightCols(input_count() - first_input), options_.point_tolerance,
                                  options_.lambda / std::max(weight, 1.0));
  }
  return grown;
}

/// Offsets, and equations for as many features, of which no row is known that was not before.
void FeatureRidge::place_blocks() {
  std::int64_t offset = 0;
  for (FeatureBlock& block : blocks_) {
    block.offset = offset;
    block.trace = block.missed = 0;
    offset += block.size();
  }
  equations_.grow(offset);
}

void FeatureRidge::fill_inputs(const States& inputs, Columns out) const {
  for (const FeatureBlock& block : blocks_) block.fill(inputs, block.rows_of(out));
}

/// Columns of ψ become the features with these actions, times factors.
void FeatureRidge::scale(const Eigen::ArrayXd& actions, const Eigen::ArrayXd& factors, Columns out) const {
  for (const FeatureBlock& block : blocks_) {
    block.rows_of(out).array().rowwise() *=
        (std::sqrt(block.ways) * factors * powers(actions, block.action_power)).transpose();
  }
}

/// Adds the rows' features from `first_feature` on.
void FeatureRidge::add_rows(std::int64_t begin, std::int64_t end, std::int64_t first_feature) {
  if (options_.kernel.kind == KernelKind::bits && exact_ && add_bit_rows()) return;
  // What points leave of every row, in the order of the rows, so that its sum has fixed bits.
  Eigen::ArrayXXd own = Eigen::ArrayXXd::Zero(end - begin, std::ssize(blocks_)), missed = own;
  const auto fill = [&](std::int64_t first, Columns out) {
    const auto times = of_rows(&Row::times, begin + first, out.cols());
    const auto input = of_rows(&Row::input, begin + first, out.cols());
    const Eigen::ArrayX<std::int64_t> place = input - input[0];
    const States used = inputs().middleCols(input[0], place.tail(1)[0] + 1);
    MatrixXd psi(dimension(), used.cols());
    fill_inputs(used, psi);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].finite) continue;
      const Eigen::ArrayXd value = kernel_diagonal(blocks_[b].kernel, used);
      const Eigen::ArrayXd left = value - blocks_[b].rows_of(psi).colwise().squaredNorm().transpose().array();
      const auto column = static_cast<Eigen::Index>(b);
      own.col(column).segment(first, out.cols()) = times * value(place);
      missed.col(column).segment(first, out.cols()) = times * (left > kRounding * value).select(left, 0.0)(place);
    }
    out = psi(Eigen::all, place);
    scale(of_rows(&Row::action, begin + first, out.cols()), times.sqrt(), out);
  };
  equations_.add(of_rows(&Row::y, begin, end - begin).matrix(), fill, first_feature);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].trace += own.col(static_cast<Eigen::Index>(b)).sum();
    blocks_[b].missed += missed.col(static_cast<Eigen::Index>(b)).sum();
  }
}

/// False where a bit is neither 0 nor 1, as it need not be.
bool FeatureRidge::add_bit_rows() {
  const auto bits = inputs().bottomRows(options_.kernel.actions).array();
  if (!(bits == 0 || bits == 1).all()) return false;
  const std::int64_t n = std::ssize(rows_);
  equations_.add_bits(inputs(), of_rows(&Row::times, 0, n).sqrt().matrix(), of_rows(&Row::y, 0, n).matrix(),
                      options_.kernel.features);
  return true;
}

void FeatureRidge::throw_repeated_states() const {
  std::map<std::vector<double>, std::int64_t> seen;
  std::int64_t number = 0;
  for (const Row& row : rows_) {
    const auto state = inputs_.begin() + row.input * input_size_;
    for (double again = 0; again < row.times; again += 1, ++number) {
      const auto [first, fresh] = seen.try_emplace({state, state + input_size_}, number);
      if (fresh) continue;
      throw Error(
          ErrorKind::data,
          fmt::format("the state is that of row {} again, and lambda = 0 asks for a function through both: give "
                      "a lambda above zero",
                      first->second),
          {.row = number});
    }
  }
  throw Error(
      ErrorKind::data,
      fmt::format("states are so close beside the kernel's length {} that lambda = 0 has no solution to working "
                  "precision: give a lambda above zero or a shorter length",
                  options_.kernel.length));
}

}  // namespace scrm
