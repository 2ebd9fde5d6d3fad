#include "estimate/model/conjugate_ridge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "estimate/model/design_rows.hpp"
#include "estimate/model/shifted_search.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "policy/theta_gradient.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"

namespace scrm {
namespace {

using Vector = ShiftedSearch::Vector;

// Intercepts are in units so large that they are penalised a hundredth as much.
constexpr double kInterceptUnit = 10;

/// Coordinates in which every penalty is the same multiple of |ψ|².
class Coordinates {
 public:
  Coordinates(const RidgeShape& shape, const RidgeUnits& units, bool common)
      : width_(static_cast<std::size_t>(shape.context_width)), units_(units.features) {
    double square = 0;
    for (const RidgeUnit& unit : units_) square += unit.scale * unit.scale / static_cast<double>(units_.size());
    for (RidgeUnit& unit : units_) {
      if (common) unit.scale = std::sqrt(square);
    }
  }

  Vector to_theta(const Vector& psi) const {
    Vector theta = psi;
    for (std::size_t first = 0; first < theta.size(); first += width_) {
      double intercept = psi[first] * kInterceptUnit;
      for (std::size_t j = 1; j < width_; ++j) {
        const RidgeUnit& unit = units_[j - 1];
        theta[first + j] = psi[first + j] / unit.scale;
        intercept -= theta[first + j] * unit.centre;
      }
      theta[first] = intercept;
    }
    return theta;
  }

  /// ∂/∂ψ of a function whose ∂/∂θ is given.
  Vector gradient(const double* by_theta, std::size_t size) const {
    Vector out(size);
    for (std::size_t first = 0; first < size; first += width_) {
      out[first] = by_theta[first] * kInterceptUnit;
      for (std::size_t j = 1; j < width_; ++j) {
        const RidgeUnit& unit = units_[j - 1];
        out[first + j] = (by_theta[first + j] - unit.centre * by_theta[first]) / unit.scale;
      }
    }
    return out;
  }

 private:
  std::size_t width_;
  std::vector<RidgeUnit> units_;
};

Policy scorer(const Vector& theta, int outputs) {
  Policy policy;
  policy.kind = PolicyKind::softmax;  // a score for each output
  policy.outputs = outputs;
  policy.theta = theta;
  return policy;
}

/// For each fold and its θ, Σ_i v_i f_o (1, x_i) over the rows outside the fold: v is the prediction by θ, or, without
/// any θ, the loss less `means`, of which each fold has its own, or `mean` where none is left out.
class FoldProducts final : public SizedReduction {
 public:
  struct Sums final : Partial {
    Vector values;
  };

  FoldProducts(const DesignRows& rows, const Schema& schema, std::size_t size, std::span<const int> folds,
               std::span<const Vector> thetas, const std::array<double, Folds::kCount>& means, double mean)
      : rows_(rows), size_(size), folds_(folds), means_(means), mean_(mean) {
    for (const Vector& theta : thetas) matrices_.emplace_back(scorer(theta, rows.outputs()), schema);
  }

  ReductionBytes bytes() const override {
    const auto outputs = static_cast<std::size_t>(rows_.outputs());
    ReductionBytes bytes;
    // A matrix has a copy by features where contexts are sparse, and products are by features first.
    bytes.fixed = 2 * folds_.size() * size_ * sizeof(double);
    bytes.partial = folds_.size() * size_ * sizeof(double);
    bytes.scratch = (2 * outputs * kBlockRows + size_ + kBlockRows) * sizeof(double);
    bytes.help = kRidgeMemoryHelp;
    return bytes;
  }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    partial->values.resize(folds_.size() * size_);
    return partial;
  }

  void compute(const Block& block, Partial& out) const override {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    double* columns = scratch->columns(PolicyScratch::kCallerSlot, rows_.outputs());
    alignas(kColumnAlignment) double values[kBlockRows];
    const DesignRows::OfBlock of_rows = rows_.of(block);
    for (std::size_t at = 0; at < folds_.size(); ++at) {
      if (matrices_.empty()) {
        const double mean = folds_[at] != Folds::kNone ? means_[static_cast<std::size_t>(folds_[at])] : mean_;
        for (int i = 0; i < block.rows; ++i) values[i] = block.loss[i] - mean;
      } else {
        matrices_[at].scores(block, *scratch, columns);
        rows_.predict(block, columns, values);
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
        if (of_rows.keep[i] == 0 || of_rows.folds[i] == folds_[at]) values[i] = 0;
      }
      rows_.whiten(block, of_rows.keep.data(), values);
      for (int o = 0; o < rows_.outputs(); ++o) {
        for (int i = 0; i < block.rows; ++i) columns[cell(o, i)] = rows_.factor(block, o, i) * values[i];
        std::fill(columns + cell(o, block.rows), columns + cell(o, kBlockRows), 0.0);
      }
      theta_gradient(block, FeatureMap::linear, columns, rows_.outputs(), *scratch,
                     static_cast<Sums&>(out).values.data() + at * size_);
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    Vector& into = static_cast<Sums&>(earlier).values;
    const Vector& from = static_cast<const Sums&>(later).values;
    for (std::size_t j = 0; j < into.size(); ++j) into[j] += from[j];
  }

  void transfer(Partial& sums, ByteStream& bytes) const override {
    scrm::transfer(bytes, static_cast<Sums&>(sums).values);
  }

 private:
  const DesignRows& rows_;
  std::size_t size_;
  std::span<const int> folds_;
  const std::array<double, Folds::kCount>& means_;
  double mean_;
  std::vector<ScoreMatrix> matrices_;
  mutable Pool<PolicyScratch> scratch_;
};

class ConjugateFit {
 public:
  ConjugateFit(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
               const RidgeOptions& options, const PassOptions& pass)
      : source_(source),
        shape_(shape),
        units_(units),
        rows_(shape, units, folds, options.rows),
        size_(static_cast<std::size_t>(shape.context_width) * static_cast<std::size_t>(rows_.outputs())),
        pass_(pass) {
    // Solutions and directions of every penalty, in every fold, and a few vectors more.
    MemoryLedger ledger(pass.memory);
    ledger.charge((2 * kPenalties + 6) * Folds::kCount * size_ * sizeof(double), "a ridge model of many features",
                  kRidgeMemoryHelp);
    pass_.memory = ledger.left();
    find_means(options.skip_bad_rows);
  }

  ConjugateRidge fit(bool cross_fitted) {
    const Coordinates own(shape_, units_, false), common(shape_, units_, true);
    const std::array<int, 1> first = {0};
    const Trial with_own = solve(own, first), with_common = solve(common, first);
    const bool together = least(with_common.errors) < least(with_own.errors);
    const Coordinates& best = together ? common : own;
    Trial all = together ? with_common : with_own;
    constexpr std::array<int, Folds::kCount - 1> kOthers = {1, 2, 3, 4};
    Trial others = solve(best, kOthers);
    for (std::size_t s = 0; s < all.errors.size(); ++s) all.errors[s] += others.errors[s];
    for (std::vector<Vector>& one : others.thetas) all.thetas.push_back(std::move(one));
    // The larger of equals.
    const auto chosen = std::min_element(all.errors.rbegin(), all.errors.rend());
    const auto step = static_cast<int>(all.errors.rend() - chosen) - 1;
    if (!cross_fitted) {
      const std::array<int, 1> none = {Folds::kNone};
      all.thetas.assign(Folds::kCount, solve(best, none).thetas.front());
      means_.fill(mean_);
    }
    ConjugateRidge out{{}, penalty_at(step)};
    for (int fold = 0; fold < Folds::kCount; ++fold) {
      Vector& theta = all.thetas[static_cast<std::size_t>(fold)][static_cast<std::size_t>(step)];
      // Losses were measured from their mean: categories have an intercept each, others share the first.
      const bool categorical = shape_.kind == ActionKind::categorical;
      for (std::size_t at = 0; at < (categorical ? theta.size() : 1);
           at += static_cast<std::size_t>(shape_.context_width))
        theta[at] += means_[static_cast<std::size_t>(fold)];
      out.theta.push_back(std::move(theta));
    }
    return out;
  }

 private:
  /// θ of some folds for every penalty, and the squared errors of these folds' rows.
  struct Trial {
    std::vector<std::vector<Vector>> thetas;
    Vector errors;
  };

  static double least(const Vector& errors) { return *std::min_element(errors.begin(), errors.end()); }

  void find_means(bool skip_bad_rows) {
    using Totals = std::array<double, 2 * Folds::kCount>;
    const auto [totals, audit] = run_pass(
        source_, Totals{},
        [this](const Block& block, Totals& out) {
          out.fill(0);
          const DesignRows::OfBlock of_rows = rows_.of(block);
          for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
            if (of_rows.keep[i] == 0) continue;
            out[of_rows.folds[i]] += 1;
            out[Folds::kCount + of_rows.folds[i]] += block.loss[i];
          }
        },
        [](Totals& a, const Totals& b) {
          for (std::size_t j = 0; j < a.size(); ++j) a[j] += b[j];
        },
        pass_);
    if (!skip_bad_rows) require_no_bad_rows(audit);
    double all_rows = 0;
    for (std::size_t fold = 0; fold < Folds::kCount; ++fold) {
      all_rows += totals[fold];
      mean_ += totals[Folds::kCount + fold];
      double count = 0, sum = 0;
      for (std::size_t other = 0; other < Folds::kCount; ++other) {
        if (other == fold) continue;
        count += totals[other];
        sum += totals[Folds::kCount + other];
      }
      means_[fold] = count > 0 ? sum / count : 0;
    }
    mean_ = all_rows > 0 ? mean_ / all_rows : 0;
  }

  std::vector<Vector> products(const Coordinates& coordinates, std::span<const int> folds,
                               std::span<const Vector> thetas) {
    const FoldProducts reduction(rows_, source_.schema(), size_, folds, thetas, means_, mean_);
    const PassResult result = run_pass(source_, reduction, pass_);
    const Vector& sums = static_cast<const FoldProducts::Sums&>(*result.sums).values;
    std::vector<Vector> out;
    for (std::size_t at = 0; at < folds.size(); ++at)
      out.push_back(coordinates.gradient(sums.data() + at * size_, size_));
    return out;
  }

  Trial solve(const Coordinates& coordinates, std::span<const int> folds) {
    std::vector<ShiftedSearch> searches;
    for (const Vector& b : products(coordinates, folds, {})) searches.emplace_back(b);
    for (;;) {
      std::vector<std::size_t> active;
      std::vector<int> active_folds;
      std::vector<Vector> thetas;
      for (std::size_t at = 0; at < searches.size(); ++at) {
        if (searches[at].done()) continue;
        active.push_back(at);
        active_folds.push_back(folds[at]);
        thetas.push_back(coordinates.to_theta(searches[at].direction()));
      }
      if (active.empty()) break;
      const std::vector<Vector> results = products(coordinates, active_folds, thetas);
      for (std::size_t at = 0; at < active.size(); ++at) searches[active[at]].step(results[at]);
    }
    Trial out{{}, Vector(kPenalties)};
    for (std::size_t at = 0; at < searches.size(); ++at) {
      std::vector<Vector> thetas;
      for (const Vector& psi : searches[at].solutions()) thetas.push_back(coordinates.to_theta(psi));
      const Vector errors = folds[at] != Folds::kNone ? held_errors(folds[at], thetas) : Vector();
      for (std::size_t s = 0; s < errors.size(); ++s) out.errors[s] += errors[s];
      out.thetas.push_back(std::move(thetas));
    }
    return out;
  }

  /// Squared errors of the fold's own rows, which its θ have not seen. Infinite where a θ is not a number.
  Vector held_errors(int fold, const std::vector<Vector>& thetas) {
    std::vector<ScoreMatrix> matrices;
    for (const Vector& theta : thetas) matrices.emplace_back(scorer(theta, rows_.outputs()), source_.schema());
    const double mean = means_[static_cast<std::size_t>(fold)];
    Pool<PolicyScratch> pool;
    const auto [errors, audit] = run_pass(
        source_, Vector(kPenalties),
        [&, this](const Block& block, Vector& out) {
          const Pool<PolicyScratch>::Lease scratch = pool.lease();
          double* columns = scratch->columns(PolicyScratch::kCallerSlot, rows_.outputs());
          alignas(kColumnAlignment) double values[kBlockRows];
          const DesignRows::OfBlock of_rows = rows_.of(block);
          for (std::size_t s = 0; s < matrices.size(); ++s) {
            matrices[s].scores(block, *scratch, columns);
            rows_.predict(block, columns, values);
            out[s] = 0;
            for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
              const double error = block.loss[i] - mean - values[i];
              if (of_rows.keep[i] != 0 && of_rows.folds[i] == fold) out[s] += error * error;
            }
          }
        },
        [](Vector& a, const Vector& b) {
          for (std::size_t j = 0; j < a.size(); ++j) a[j] += b[j];
        },
        pass_);
    Vector out = errors;
    for (double& error : out) error = std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
    return out;
  }

  Source& source_;
  const RidgeShape& shape_;
  const RidgeUnits& units_;
  DesignRows rows_;
  std::size_t size_;
  PassOptions pass_;
  std::array<double, Folds::kCount> means_{};
  double mean_ = 0;
};

}  // namespace

ConjugateRidge fit_conjugate_ridge(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
                                   const RidgeOptions& options, const PassOptions& pass) {
  return ConjugateFit(source, shape, units, folds, options, pass).fit(options.cross_fitted);
}

}  // namespace scrm
