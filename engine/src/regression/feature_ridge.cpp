#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/feature_block.hpp"
#include "regression/kernel_solver.hpp"
#include "regression/normal_equations.hpp"
#include "scrm/io/error.hpp"
#include "scrm/kernels/elementary.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// What inducing points leave of k(s, s) counts from this share of it on; below is rounding.
constexpr double kRounding = 1e-12;
constexpr std::int64_t kContextsAtOnce = 64;

/// One or more rows of a batch that follow each other with the same input and action.
struct Row {
  std::int64_t input = 0;
  double action = 1, times = 0;
};

/// Ridge in feature space, where features are those of the kernel itself or of inducing points. An input is a context
/// where the kernel is a polynomial of the action, else a state. What points leave of k(s, s) counts as never seen,
/// term by term, so that widths far from all points are the kernel's own and not zero.
class FeatureRidge final : public KernelSolver {
 public:
  explicit FeatureRidge(const KernelRidgeOptions& options)
      : options_(options), input_size_(options.kernel.state_size() - (options.kernel.power() > 0 ? 1 : 0)) {
    for (const Term& term : terms_of(options)) blocks_.emplace_back(term, options.points);
    exact_ = std::all_of(blocks_.begin(), blocks_.end(), [](const FeatureBlock& block) { return block.finite; });
    start_equations();
    equations_.solve(options_.lambda);
  }

  void add(const States& states, const Responses& y) override;

  std::int64_t dimension() const override { return equations_.dimension(); }
  const VectorXd& weights() const override { return equations_.weights(); }
  void fill_features(const States& states, Columns out) const override;
  void squared_widths(const States& states, Columns features, Answers out) const override;
  void action_polynomials(const States& contexts, Columns means, Columns* squares) const override;
  void grid_means(const States& contexts, const Responses& actions, Columns out) const override;
  MatrixXd bit_weights() const override;

  double trace_error() const override {
    double most = 0;
    for (const FeatureBlock& block : blocks_) most = std::max(most, block.missed > 0 ? block.missed / block.trace : 0);
    return most;
  }
  std::size_t bytes() const override {
    std::size_t total = equations_.bytes() + rows_.capacity() * sizeof(Row);
    for (const FeatureBlock& block : blocks_) total += block.finite ? block.features->bytes() : block.points->bytes();
    return total + (inputs_.capacity() + y_.capacity()) * sizeof(double);
  }

 private:
  bool splits_action() const { return options_.kernel.power() > 0; }
  std::int64_t input_count() const { return rows_.empty() ? 0 : rows_.back().input + 1; }
  Eigen::Map<const MatrixXd> inputs() const { return {inputs_.data(), input_size_, input_count()}; }
  Responses y() const { return Eigen::Map<const VectorXd>(y_.data(), std::ssize(y_)); }

  void add_by_chunks(const States& states, const Responses& y);
  void keep(const States& states, const Responses& y);
  bool extend(std::int64_t first_input, std::size_t first_row);
  void start_equations();
  void add_rows(std::size_t from);
  bool add_bit_rows();
  void fill_rows(const Row* rows, Columns out) const;
  void fill_inputs(const States& inputs, Columns out) const;
  void scale(double action, double factor, double* column) const;
  [[noreturn]] void throw_repeated_states() const;

  KernelRidgeOptions options_;
  std::int64_t input_size_;
  bool exact_ = false;
  std::vector<FeatureBlock> blocks_;
  // Rows so far; of an exact feature map those of a chunk, while a batch is added.
  std::vector<double> inputs_, y_;
  std::vector<Row> rows_;
  NormalEquations equations_{0};
  VectorXd kernel_weights_;  // of a single block's points
};

void FeatureRidge::add(const States& states, const Responses& y) {
  if (exact_) return add_by_chunks(states, y);
  std::size_t from = rows_.size();
  const std::int64_t first_input = input_count();
  keep(states, y);
  if (extend(first_input, from)) {
    // New points are new features of the old rows too.
    start_equations();
    from = 0;
  }
  // Without a finite feature map all states are independent unless they repeat; then no function passes through all.
  const bool interpolates = options_.kernel.kind == KernelKind::gaussian && options_.lambda == 0 && !options_.points;
  const auto repeats = [](const Row& row) { return row.times > 1; };
  if (interpolates && (dimension() < std::ssize(rows_) || std::any_of(rows_.begin(), rows_.end(), repeats))) {
    throw_repeated_states();
  }
  add_rows(from);
  equations_.solve(options_.lambda);
  if (!splits_action()) kernel_weights_ = blocks_.front().points->kernel_weights(weights());
}

/// Rows leave nothing behind but their moments.
void FeatureRidge::add_by_chunks(const States& states, const Responses& y) {
  const std::int64_t chunk = chunk_rows(options_.kernel);
  for (std::int64_t first = 0; first < y.size(); first += chunk) {
    const std::int64_t n = std::min(chunk, y.size() - first);
    keep(states.middleCols(first, n), y.segment(first, n));
    add_rows(0);
    rows_.clear();
    inputs_.clear();
    y_.clear();
  }
  equations_.solve(options_.lambda);
}

/// Rows that say the same count as one, √times as long: replays cost nothing then.
void FeatureRidge::keep(const States& states, const Responses& y) {
  const std::size_t begin = rows_.size();
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    const double* state = states.col(i).data();
    const double action = splits_action() ? state[input_size_] : 1.0;
    const bool same = rows_.size() > begin && std::equal(state, state + input_size_, inputs_.end() - input_size_);
    if (!same) inputs_.insert(inputs_.end(), state, state + input_size_);
    if (!same || rows_.back().action != action) {
      rows_.push_back({input_count() - (same ? 1 : 0), action, 0});
      y_.push_back(0);
    }
    rows_.back().times += 1;
    y_.back() += y[i];
  }
  for (std::size_t i = begin; i < rows_.size(); ++i) y_[i] /= std::sqrt(rows_[i].times);
}

bool FeatureRidge::extend(std::int64_t first_input, std::size_t first_row) {
  bool grown = false;
  const auto rows = static_cast<double>(rows_.size() - first_row);
  for (FeatureBlock& block : blocks_) {
    if (block.finite) continue;
    // A residual acts like noise added to λ; what it weighs depends on the power of the action that goes with it.
    double weight = 0;
    for (std::size_t i = first_row; i < rows_.size(); ++i) {
      weight += block.ways * integer_power(rows_[i].action, 2 * block.action_power) / rows;
    }
    grown |= block.points->extend(inputs().rightCols(input_count() - first_input), options_.point_tolerance,
                                  options_.lambda / std::max(weight, 1.0));
  }
  return grown;
}

void FeatureRidge::start_equations() {
  std::int64_t offset = 0;
  for (FeatureBlock& block : blocks_) {
    block.offset = offset;
    block.trace = block.missed = 0;
    offset += block.size();
  }
  equations_ = NormalEquations(offset);
}

void FeatureRidge::fill_inputs(const States& inputs, Columns out) const {
  for (const FeatureBlock& block : blocks_) block.fill(inputs, block.rows_of(out));
}

/// A column of ψ becomes the features with this action, times `factor`.
void FeatureRidge::scale(double action, double factor, double* column) const {
  for (const FeatureBlock& block : blocks_) {
    const double by = factor * std::sqrt(block.ways) * integer_power(action, block.action_power);
    for (std::int64_t i = block.offset; i < block.offset + block.size(); ++i) column[i] *= by;
  }
}

void FeatureRidge::fill_rows(const Row* rows, Columns out) const {
  const std::int64_t begin = rows->input, count = rows[out.cols() - 1].input - begin + 1;
  if (count == out.cols()) {
    fill_inputs(inputs().middleCols(begin, count), out);
  } else {
    MatrixXd psi(dimension(), count);
    fill_inputs(inputs().middleCols(begin, count), psi);
    for (Eigen::Index i = 0; i < out.cols(); ++i) out.col(i) = psi.col(rows[i].input - begin);
  }
}

void FeatureRidge::add_rows(std::size_t from) {
  if (options_.kernel.kind == KernelKind::bits && exact_ && add_bit_rows()) return;
  const auto rows = static_cast<Eigen::Index>(rows_.size() - from);
  // What points leave of every row, in the order of the rows, so that its sum has fixed bits.
  MatrixXd own = MatrixXd::Zero(std::ssize(blocks_), rows), missed = own;
  equations_.add(y().tail(rows), [&](std::int64_t first, Columns out) {
    const Row* part = rows_.data() + from + static_cast<std::size_t>(first);
    fill_rows(part, out);
    for (std::int64_t b = 0; b < own.rows(); ++b) {
      const FeatureBlock& block = blocks_[static_cast<std::size_t>(b)];
      for (Eigen::Index i = 0; i < out.cols() && !block.finite; ++i) {
        const double value = kernel_diagonal(block.kernel, inputs().col(part[i].input))[0];
        const double left = value - block.rows_of(out).col(i).squaredNorm();
        own(b, first + i) = part[i].times * value;
        missed(b, first + i) = left > kRounding * value ? part[i].times * left : 0;
      }
    }
    for (Eigen::Index i = 0; i < out.cols(); ++i) scale(part[i].action, std::sqrt(part[i].times), &out(0, i));
  });
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].trace += own.row(static_cast<Eigen::Index>(b)).sum();
    blocks_[b].missed += missed.row(static_cast<Eigen::Index>(b)).sum();
  }
}

/// False where a bit is neither 0 nor 1, as it need not be.
bool FeatureRidge::add_bit_rows() {
  const auto bits = inputs().bottomRows(options_.kernel.actions).array();
  if (!(bits == 0 || bits == 1).all()) return false;
  VectorXd factors(std::ssize(rows_));
  for (std::size_t i = 0; i < rows_.size(); ++i) factors[static_cast<Eigen::Index>(i)] = std::sqrt(rows_[i].times);
  equations_.add_bits(inputs(), factors, y(), options_.kernel.features);
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

void FeatureRidge::fill_features(const States& states, Columns out) const {
  fill_inputs(states.topRows(input_size_), out);
  for (Eigen::Index i = 0; i < states.cols(); ++i) {
    scale(splits_action() ? states(input_size_, i) : 1.0, 1, out.col(i).data());
  }
}

void FeatureRidge::squared_widths(const States& states, Columns features, Answers out) const {
  // k − kᵀ(K + λI)⁻¹k = λ φᵀ(ΦᵀΦ + λI)⁻¹φ: there is nothing to subtract from but what points leave.
  out.setZero();
  for (const FeatureBlock& block : blocks_) {
    if (block.finite) continue;
    const VectorXd own = kernel_diagonal(block.kernel, states.topRows(input_size_));
    for (Eigen::Index i = 0; i < states.cols(); ++i) {
      const double action = splits_action() ? states(input_size_, i) : 1.0;
      const double whole = block.ways * integer_power(action, 2 * block.action_power) * own[i];
      out[i] += std::max(whole - block.rows_of(features).col(i).squaredNorm(), 0.0) / options_.lambda;
    }
  }
  equations_.whiten(features);
  out += features.colwise().squaredNorm().transpose();
}

void FeatureRidge::action_polynomials(const States& contexts, Columns means, Columns* squares) const {
  const Eigen::Index n = contexts.cols();
  if (squares != nullptr) squares->setZero();
  // Features of (x, t) are Σ t^q columns[q], each zero before its block; that of the action's highest power, which the
  // first block has, is the same for every context.
  std::vector<MatrixXd> columns;
  for (const FeatureBlock& block : blocks_) {
    const int q = block.action_power;
    MatrixXd& column = columns.emplace_back(MatrixXd::Zero(dimension() - block.offset, columns.empty() ? 1 : n));
    auto psi = column.topRows(block.size());
    block.fill(contexts.leftCols(psi.cols()), psi);
    psi *= std::sqrt(block.ways);
    VectorXd mean(psi.cols());
    set_product(psi.transpose(), weights().segment(block.offset, block.size()), mean);
    for (Eigen::Index i = 0; i < n; ++i) means(q, i) = mean[std::min(i, mean.size() - 1)];
    if (squares == nullptr) continue;
    if (!block.finite) {
      const VectorXd own = block.ways * kernel_diagonal(block.kernel, contexts);
      for (Eigen::Index i = 0; i < n; ++i) {
        (*squares)(2 * q, i) = std::max(own[i] - psi.col(i).squaredNorm(), 0.0) / options_.lambda;
      }
    }
    if (psi.cols() <= block.size()) {
      equations_.whiten(column);
      continue;
    }
    // Fewer features than contexts: whiten those.
    MatrixXd axes = MatrixXd::Zero(column.rows(), block.size());
    axes.diagonal().setOnes();
    equations_.whiten(axes);
    set_product(axes, MatrixXd(psi), column);
  }
  if (squares == nullptr) return;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::size_t l = j; l < columns.size(); ++l) {
      const auto longer = columns[j].bottomRows(columns[l].rows());
      const int q = blocks_[j].action_power + blocks_[l].action_power;
      for (Eigen::Index i = 0; i < n; ++i) {
        const double product = longer.col(j == 0 ? 0 : i).dot(columns[l].col(l == 0 ? 0 : i));
        (*squares)(q, i) += (j == l ? 1 : 2) * product;
      }
    }
  }
}

/// The gaussian kernel is a product of one of contexts and one of actions, so that a context meets the points once and
/// the actions of a grid follow by a matrix product.
void FeatureRidge::grid_means(const States& contexts, const Responses& actions, Columns out) const {
  const auto points = blocks_.front().points->states();
  const Eigen::Index features = options_.kernel.features;
  MatrixXd of_actions(points.cols(), actions.size());
  for (Eigen::Index g = 0; g < actions.size(); ++g) {
    const auto distances = (points.row(features).transpose().array() - actions[g]) / options_.kernel.length;
    of_actions.col(g) = -0.5 * distances.square();
  }
  exp_array(of_actions.data(), of_actions.data(), static_cast<int>(of_actions.size()));
  of_actions.array().colwise() *= kernel_weights_.array();
  StateKernel of_context = options_.kernel;
  of_context.actions = 0;
  parallel_indices((contexts.cols() + kContextsAtOnce - 1) / kContextsAtOnce, [&](std::int64_t block) {
    const std::int64_t first = block * kContextsAtOnce, n = std::min(kContextsAtOnce, contexts.cols() - first);
    MatrixXd of_contexts(points.cols(), n);
    kernel_values(of_context, points.topRows(features), contexts.middleCols(first, n), of_contexts);
    set_product(of_actions.transpose(), of_contexts, out.middleCols(first, n));
  });
}

MatrixXd FeatureRidge::bit_weights() const {
  const Eigen::Index side = 1 + options_.kernel.features, bits = 1 + options_.kernel.actions;
  if (exact_) return weights().reshaped(side, bits);
  const auto points = blocks_.front().points->states();
  if (points.cols() == 0) return MatrixXd::Zero(side, bits);  // no rows yet
  MatrixXd x(side, points.cols()), a(bits, points.cols()), out(side, bits);
  x.row(0).setOnes();
  x.bottomRows(side - 1) = points.topRows(side - 1);
  a.row(0) = kernel_weights_.transpose();
  a.bottomRows(bits - 1) = points.bottomRows(bits - 1) * kernel_weights_.asDiagonal();
  set_product(x, a.transpose(), out);
  return out;
}

}  // namespace

std::unique_ptr<KernelSolver> make_feature_ridge(const KernelRidgeOptions& options) {
  return std::make_unique<FeatureRidge>(options);
}

}  // namespace scrm
