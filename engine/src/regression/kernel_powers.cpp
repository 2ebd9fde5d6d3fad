#include <algorithm>
#include <cmath>

#include "regression/context_power.hpp"
#include "regression/kernel_system.hpp"
#include "regression/normal_equations.hpp"
#include "regression/polynomial_terms.hpp"

namespace scrm {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// One or more rows of a batch that follow each other with the same context and action.
struct Row {
  std::int64_t context = 0;
  double action = 0, times = 0;
};

/// (x·x' + 1 + a a')^p has the features √C(p, j) a^(p−j) ψ_j(x), ψ_j those of (x·x' + 1)^j. The powers of the action
/// stay in blocks of their own, highest first, so that numbers of the size a^(2p) are never subtracted from each other:
/// the ridge is primal in them, and what inducing contexts miss of ψ_j counts as never seen, block by block.
class PowerSystem : public RidgeSystem {
 public:
  explicit PowerSystem(const KernelRidgeOptions& options)
      : options_(options), p_(options.kernel.power()), features_(options.kernel.width() - 1), moments_(0) {
    for (int j = 0; j <= p_; ++j) {
      powers_.emplace_back(features_, j, options.points);
      ways_.push_back(binomial(p_, j));
    }
    begin_anew();
    moments_.solve(options_.lambda);
  }

  void add(std::span<const double> states, std::span<const double> y) override {
    std::int64_t from = static_cast<std::int64_t>(rows_.size());
    const std::int64_t first_context = contexts();
    keep(states, y);
    if (extend(first_context, from)) {
      // New points are new features of the old rows too.
      begin_anew();
      from = 0;
    }
    add_rows(from);
    moments_.solve(options_.lambda);
  }

  std::int64_t dimension() const override { return offsets_.back(); }
  const std::vector<double>& weights() const override { return moments_.weights(); }

  void basis(const double* states, int n, double* out) const override {
    std::vector<double> contexts(at(n * features_));
    for (int i = 0; i < n; ++i) std::copy_n(states + i * (features_ + 1), features_, contexts.data() + i * features_);
    fill(contexts.data(), n, out);
    for (int i = 0; i < n; ++i) scale(states[i * (features_ + 1) + features_], 1, out + i * dimension());
  }
  void squares(const double* states, int n, double* basis, double* out) const override;

  void power_basis(const double* contexts, int n, double* out) const override;
  void power_squares(const double* contexts, int n, double* basis, double* out) const override;

  double trace_error() const override {
    double most = 0;
    for (std::size_t j = 0; j < trace_.size(); ++j) {
      if (trace_[j] > 0) most = std::max(most, missed_[j] / trace_[j]);
    }
    return most;
  }
  std::size_t bytes() const override {
    std::size_t total = moments_.bytes() + rows_.capacity() * sizeof(Row);
    for (const ContextPower& power : powers_) total += power.bytes();
    return total + (contexts_.capacity() + y_.capacity()) * sizeof(double);
  }

 private:
  std::int64_t contexts() const { return context_count_; }
  std::int64_t height(int j) const { return offsets_[at(j) + 1] - offsets_[at(j)]; }

  void keep(std::span<const double> states, std::span<const double> y);
  bool extend(std::int64_t first_context, std::int64_t first_row);
  void begin_anew();
  void add_rows(std::int64_t from);
  /// ψ_0(x) to ψ_p(x), one column a context.
  void fill(const double* contexts, int n, double* out) const;
  /// A column of ψ becomes the features with this action, times `factor`.
  void scale(double action, double factor, double* column) const;

  KernelRidgeOptions options_;
  int p_;
  std::int64_t features_;
  std::vector<ContextPower> powers_;
  std::vector<double> ways_;           // C(p, j)
  std::vector<std::int64_t> offsets_;  // of the blocks, and the end
  std::int64_t context_count_ = 0;
  std::vector<double> contexts_, y_;
  std::vector<Row> rows_;
  NormalEquations moments_;
  std::vector<double> trace_, missed_;  // over rows, of each power of the context
};

/// Rows that say the same count as one, √times as long: replays cost nothing then.
void PowerSystem::keep(std::span<const double> states, std::span<const double> y) {
  const std::size_t begin = rows_.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* state = states.data() + i * at(features_ + 1);
    const bool same = rows_.size() > begin && std::equal(state, state + features_, contexts_.end() - features_);
    if (!same) {
      contexts_.insert(contexts_.end(), state, state + features_);
      ++context_count_;
    }
    if (!same || rows_.back().action != state[features_]) {
      rows_.push_back({context_count_ - 1, state[features_], 0});
      y_.push_back(0);
    }
    rows_.back().times += 1;
    y_.back() += y[i];
  }
  for (std::size_t i = begin; i < rows_.size(); ++i) y_[i] /= std::sqrt(rows_[i].times);
}

bool PowerSystem::extend(std::int64_t first_context, std::int64_t first_row) {
  bool more = false;
  const auto rows = static_cast<std::int64_t>(rows_.size()) - first_row;
  for (int j = 0; j <= p_; ++j) {
    // What a residual weighs beside λ depends on the power of the action that goes with it.
    double weight = 0;
    for (std::int64_t i = first_row; i < first_row + rows; ++i) {
      weight += ways_[at(j)] * integer_power(rows_[at(i)].action, 2 * (p_ - j)) / static_cast<double>(rows);
    }
    const double noise = options_.lambda / std::max(weight, 1.0);
    const bool grown = powers_[at(j)].extend(std::span(contexts_).subspan(at(first_context * features_)),
                                             contexts() - first_context, options_.point_tolerance, noise);
    more = more || grown;
  }
  return more;
}

void PowerSystem::begin_anew() {
  offsets_ = {0};
  for (const ContextPower& power : powers_) offsets_.push_back(offsets_.back() + power.dimension());
  moments_ = NormalEquations(dimension());
  trace_.assign(powers_.size(), 0.0);
  missed_.assign(powers_.size(), 0.0);
}

void PowerSystem::fill(const double* contexts, int n, double* out) const {
  for (int j = 0; j <= p_; ++j) powers_[at(j)].fill(contexts, n, out + offsets_[at(j)], dimension());
}

void PowerSystem::scale(double action, double factor, double* column) const {
  for (int j = 0; j <= p_; ++j) {
    const double by = factor * std::sqrt(ways_[at(j)]) * integer_power(action, p_ - j);
    for (std::int64_t i = offsets_[at(j)]; i < offsets_[at(j) + 1]; ++i) column[i] *= by;
  }
}

void PowerSystem::add_rows(std::int64_t from) {
  const std::int64_t rows = static_cast<std::int64_t>(rows_.size()) - from, terms = p_ + 1, d = dimension();
  std::vector<double> own(at(rows * terms)), missed(at(rows * terms));
  moments_.add(std::span(y_).subspan(at(from)), [&](std::int64_t first, int count, double* out) {
    const Row* part = rows_.data() + from + first;
    const std::int64_t begin = part->context;
    const int n = static_cast<int>(part[count - 1].context - begin) + 1;
    std::vector<double> profile(at(n * d));
    fill(contexts_.data() + begin * features_, n, profile.data());
    for (int i = 0; i < count; ++i) {
      const double* psi = profile.data() + (part[i].context - begin) * d;
      double* column = std::copy_n(psi, d, out + i * d) - d;
      for (int j = 0; j <= p_; ++j) {
        if (powers_[at(j)].exact()) continue;
        const auto cell = at((first + i) * terms + j);
        own[cell] = powers_[at(j)].own(contexts_.data() + part[i].context * features_);
        missed[cell] = std::max(own[cell] - square_norm(psi + offsets_[at(j)], height(j)), 0.0);
      }
      scale(part[i].action, std::sqrt(part[i].times), column);
    }
  });
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < terms; ++j) {
      trace_[at(j)] += rows_[at(from + i)].times * own[at(i * terms + j)];
      missed_[at(j)] += rows_[at(from + i)].times * missed[at(i * terms + j)];
    }
  }
}

void PowerSystem::squares(const double* states, int n, double* basis, double* out) const {
  std::fill_n(out, n, 0.0);
  for (int j = 0; j <= p_; ++j) {
    if (powers_[at(j)].exact()) continue;
    for (int i = 0; i < n; ++i) {
      const double* state = states + i * (features_ + 1);
      const double whole = ways_[at(j)] * integer_power(state[features_], 2 * (p_ - j)) * powers_[at(j)].own(state);
      const double known = square_norm(basis + i * dimension() + offsets_[at(j)], height(j));
      out[i] += std::max(whole - known, 0.0) / options_.lambda;
    }
  }
  moments_.whiten(basis, n);
  add_products(basis, dimension(), n, 1, 1.0, out);
}

void PowerSystem::power_basis(const double* contexts, int n, double* out) const {
  const std::int64_t apart = (p_ + 1) * dimension();
  std::fill_n(out, n * apart, 0.0);
  for (int j = 0; j <= p_; ++j) {
    double* block = out + (p_ - j) * dimension() + offsets_[at(j)];
    powers_[at(j)].fill(contexts, n, block, apart);
    for (int i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < height(j); ++k) block[i * apart + k] *= std::sqrt(ways_[at(j)]);
    }
  }
}

void PowerSystem::power_squares(const double* contexts, int n, double* basis, double* out) const {
  const std::int64_t apart = (p_ + 1) * dimension(), terms = 2 * p_ + 1;
  std::fill_n(out, n * terms, 0.0);
  for (int j = 0; j <= p_; ++j) {
    double* columns = basis + (p_ - j) * dimension();
    for (int i = 0; i < n && !powers_[at(j)].exact(); ++i) {
      const double whole = ways_[at(j)] * powers_[at(j)].own(contexts + i * features_);
      const double known = square_norm(columns + i * apart + offsets_[at(j)], height(j));
      out[i * terms + 2 * (p_ - j)] = std::max(whole - known, 0.0) / options_.lambda;
    }
    // A column begins with its block; that of the action's highest power is the same for every context.
    moments_.whiten_from(offsets_[at(j)], columns + offsets_[at(j)], j == 0 ? 1 : n, apart);
    for (int i = 1; i < n && j == 0; ++i) std::copy_n(columns, dimension(), columns + i * apart);
  }
  add_products(basis, dimension(), n * (p_ + 1), p_ + 1, 1.0, out);
}

}  // namespace

std::unique_ptr<RidgeSystem> make_powers(const KernelRidgeOptions& options) {
  return std::make_unique<PowerSystem>(options);
}

std::int64_t powers_dimension(const KernelRidgeOptions& options) noexcept {
  std::int64_t total = 0;
  const std::int64_t features = options.kernel.width() - 1;
  for (int j = 0; j <= options.kernel.power(); ++j) total += ContextPower::max_dimension(features, j, options.points);
  return total;
}

std::size_t powers_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept {
  const std::int64_t features = options.kernel.width() - 1;
  // Rows and contexts, which are at most as many; what a batch misses; the points of each power of the context.
  const auto per_row = static_cast<double>(2 * features + 8 + 2 * (options.kernel.power() + 1));
  double total = static_cast<double>(rows) * per_row * sizeof(double);
  for (int j = 0; j <= options.kernel.power(); ++j) {
    total += ContextPower::bytes_needed(features, j, options.points, rows);
  }
  return static_cast<std::size_t>(total) + NormalEquations::bytes_needed(powers_dimension(options), options.lambda);
}

}  // namespace scrm
