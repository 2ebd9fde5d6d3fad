/// FeatureRidge: kernel ridge on the features of the kernel itself, of inducing points, or of all rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "regression/kernel_ridge/conjugate_gradient.hpp"
#include "regression/kernel_ridge/inducing_points.hpp"
#include "regression/kernel_ridge/kernel_values.hpp"
#include "regression/normal_equations.hpp"

namespace scrm {

/// One term ways · (a a')^action_power · kernel(x, x') of the state kernel, with all its features or inducing points.
struct FeatureBlock {
  StateKernel kernel;
  double ways = 1;
  int action_power = 0;
  bool finite = true;  // has all features
  std::optional<FiniteFeatures> features = {};
  std::optional<InducingPoints> points = {};
  std::int64_t offset = 0;
  Eigen::MatrixXd axes = {};     // polynomials with widths: what each feature is when whitened, from `offset` on
  double trace = 0, missed = 0;  // over rows, of the kernel and of what points leave of it

  std::int64_t size() const { return finite ? features->dimension() : points->count(); }
  void fill(const States& inputs, Columns out) const {
    return finite ? features->fill(inputs, out) : points->fill(inputs, out);
  }
  /// This block's part of columns of all features.
  template <class Matrix>
  auto rows_of(Matrix& all) const {
    return all.middleRows(offset, size());
  }
};

/// An input is a context where the kernel is a polynomial of the action, else a state. What points leave of k(s, s)
/// counts as never seen, term by term, so that widths far from all points are the kernel's own and not zero. A state
/// becomes a column of dimension() features; the mean is weights() · features.
class FeatureRidge {
 public:
  /// The options must be resolved.
  explicit FeatureRidge(const KernelRidgeOptions& options);

  /// A batch; afterwards queries see it.
  void add(const States& states, const Responses& y);

  const KernelRidgeOptions& options() const { return options_; }
  std::int64_t rows() const { return count_; }
  std::int64_t dimension() const;
  const Eigen::VectorXd& weights() const;
  void fill_features(const States& states, Columns out) const;
  /// width² out of states and their features, which are overwritten. λ > 0 only, and not by conjugate gradients.
  void squared_widths(const States& states, Columns features, Answers out) const;

  /// Linear and polynomial kernels, p = power(): p + 1 coefficients of the mean and, λ > 0 only and where `squares` is
  /// not null, 2p + 1 of width² a context, along the state's last number.
  void action_polynomials(const States& contexts, Columns means, Columns* squares) const;
  /// Gaussian kernel: mean(x, a), one column a context and one row an action.
  void grid_means(const States& contexts, const Responses& actions, Columns out) const;
  /// Bits: the mean is (1, x)ᵀ M (1, a).
  const Eigen::MatrixXd& bit_weights() const { return bit_weights_; }
  /// Bits whose inverse is kept: width² of a context's bits and, row 1 + k, of those that differ from them in bit k.
  bool keeps_inverse() const { return inverse_.size() > 0; }
  void squared_flip_widths(const States& contexts, const States& bits, Columns out) const;

  double trace_error() const;
  /// Held at most while adding up to `rows` rows, and the features then.
  static double bytes_needed(const KernelRidgeOptions& options, std::int64_t rows);
  static std::int64_t max_dimension(const KernelRidgeOptions& options, std::int64_t rows);

 private:
  /// One or more rows of a batch that follow each other with the same input and action; y is over √times.
  struct Row {
    std::int64_t input;
    double action, times, y;
  };

  bool splits_action() const { return options_.kernel.power() > 0; }
  std::int64_t input_count() const { return rows_.empty() ? 0 : rows_.back().input + 1; }
  Eigen::Map<const Eigen::MatrixXd> inputs() const { return {inputs_.data(), input_size_, input_count()}; }
  /// One of the numbers of rows [first, first + n), such as the action.
  template <class Number>
  auto of_rows(Number Row::*number, std::int64_t first, std::int64_t n) const {
    using Numbers = Eigen::Array<Number, Eigen::Dynamic, 1>;
    static_assert(sizeof(Row) == 4 * sizeof(Number));
    return Eigen::Map<const Numbers, 0, Eigen::InnerStride<4>>(&(rows_.data()[first].*number), n);
  }
  /// States whose kernel values, times kernel_weights_, are the mean: of kernels that are no polynomial of the action.
  States centres() const;

  void keep(const States& states, const Responses& y);
  void add_to_moments(const States& states, const Responses& y);
  void add_to_points(std::int64_t first_input, std::int64_t first_row);
  void add_to_kernel_matrix(std::int64_t first);
  bool extend(std::int64_t first_input, std::int64_t first_row);
  void place_blocks();
  void add_rows(std::int64_t begin, std::int64_t end, std::int64_t first_feature);
  bool add_bit_rows();
  void fill_inputs(const States& inputs, Columns out) const;
  void scale(const Eigen::ArrayXd& actions, const Eigen::ArrayXd& factors, Columns out) const;
  void solve();
  void find_bit_weights();
  [[noreturn]] void throw_repeated_states() const;

  KernelRidgeOptions options_;
  std::int64_t input_size_, count_ = 0;
  bool exact_, dual_;
  std::vector<FeatureBlock> blocks_;
  // So far; of an exact feature map those of a chunk, while a batch is added.
  std::vector<double> inputs_;
  std::vector<Row> rows_;
  NormalEquations equations_{0};
  std::optional<ConjugateGradient> gradients_;
  Eigen::MatrixXd factor_;   // dual: of K + λ/times
  Eigen::MatrixXd inverse_;  // bits: of the normal equations
  Eigen::MatrixXd bit_weights_;
  Eigen::VectorXd kernel_weights_;  // of the centres
};

}  // namespace scrm
