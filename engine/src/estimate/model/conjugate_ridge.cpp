#include "estimate/model/conjugate_ridge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "estimate/model/fold_products.hpp"
#include "estimate/model/multi_shift_cg.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"

namespace scrm {
namespace {

using Vector = MultiShiftCg::Vector;

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

class ConjugateFit {
 public:
  ConjugateFit(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
               const RidgeOptions& options, const PassOptions& pass)
      : source_(source),
        shape_(shape),
        units_(units),
        rows_(shape, units, folds, options.rows),
        size_(static_cast<std::size_t>(shape.context_width) * static_cast<std::size_t>(rows_.outputs())),
        memory_help_(options.memory_help),
        pass_(pass) {
    // Solutions and directions of every penalty, in every fold, a few vectors more, and solutions that were kept.
    MemoryLedger ledger(pass.memory);
    ledger.charge((3 * kPenalties + 6) * Folds::kCount * size_ * sizeof(double), "a ridge model of many features",
                  options.memory_help);
    // Where there is room for them beside all else.
    constexpr std::size_t kHeldShare = 4;
    const std::size_t held = DesignRows::held_bytes(shape, source);
    if (held > 0 && (pass.memory == 0 || held <= ledger.left() / kHeldShare)) {
      ledger.charge(held, "weights of rows that share contexts", options.memory_help);
      rows_.hold(source);
    }
    pass_.memory = ledger.left();
    find_means(options.skip_bad_rows);
  }

  ConjugateRidge fit(bool cross_fitted) {
    const Coordinates own(shape_, units_, false), common(shape_, units_, true);
    const std::array<LeftOut, 1> first = {{{0}}};
    Thetas with_own = solve(own, first).front(), with_common = solve(common, first).front();
    const Vector own_errors = held_errors(first[0], 0, with_own), common_errors = held_errors(first[0], 0, with_common);
    const bool together = least(common_errors) < least(own_errors);
    const Coordinates& best = together ? common : own;
    std::vector<Thetas> thetas;
    thetas.push_back(std::move(together ? with_common : with_own));
    std::array<int, Folds::kCount> steps;
    constexpr std::array<LeftOut, Folds::kCount - 1> kOthers = {{{1}, {2}, {3}, {4}}};
    for (Thetas& one : solve(best, kOthers)) thetas.push_back(std::move(one));
    if (cross_fitted) {
      steps = nested_steps(best);
    } else {
      Vector errors = together ? common_errors : own_errors;
      for (const LeftOut& left : kOthers)
        add(held_errors(left, left.first, thetas[static_cast<std::size_t>(left.first)]), errors);
      steps.fill(best_step(errors));
      const std::array<LeftOut, 1> none = {};
      thetas.assign(Folds::kCount, solve(best, none).front());
    }
    return in_own_units(thetas, steps, cross_fitted);
  }

 private:
  /// θ of one model for every penalty.
  using Thetas = std::vector<Vector>;

  static double least(const Vector& errors) { return *std::min_element(errors.begin(), errors.end()); }
  static void add(const Vector& from, Vector& into) {
    for (std::size_t s = 0; s < into.size(); ++s) into[s] += from[s];
  }
  /// The larger of equals.
  static int best_step(const Vector& errors) {
    return static_cast<int>(errors.rend() - std::min_element(errors.rbegin(), errors.rend())) - 1;
  }

  /// The penalty of each fold, by models that have not seen it: each other fold in turn is left out too, and predicted.
  /// One model serves both of its folds, so that there are ten, five at a time.
  std::array<int, Folds::kCount> nested_steps(const Coordinates& coordinates) {
    std::array<Vector, Folds::kCount> errors;
    errors.fill(Vector(kPenalties));
    constexpr int kDistances = Folds::kCount / 2;
    for (int distance = 1; distance <= kDistances; ++distance) {
      std::array<LeftOut, Folds::kCount> pairs;
      for (int fold = 0; fold < Folds::kCount; ++fold)
        pairs[static_cast<std::size_t>(fold)] = {fold, (fold + distance) % Folds::kCount};
      const std::vector<Thetas> thetas = solve(coordinates, pairs);
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        const auto [one, other] = pairs[p];
        add(held_errors(pairs[p], other, thetas[p]), errors[static_cast<std::size_t>(one)]);
        add(held_errors(pairs[p], one, thetas[p]), errors[static_cast<std::size_t>(other)]);
      }
    }
    std::array<int, Folds::kCount> steps;
    for (std::size_t fold = 0; fold < steps.size(); ++fold) steps[fold] = best_step(errors[fold]);
    return steps;
  }

  /// Losses were measured from their mean: categories have an intercept each, others share the first.
  ConjugateRidge in_own_units(std::vector<Thetas>& thetas, std::array<int, Folds::kCount> steps, bool cross_fitted) {
    ConjugateRidge out;
    for (int fold = 0; fold < Folds::kCount; ++fold) {
      const auto at_fold = static_cast<std::size_t>(fold);
      Vector& theta = thetas[at_fold][static_cast<std::size_t>(steps[at_fold])];
      const LeftOut left = cross_fitted ? LeftOut{fold} : LeftOut{};
      const bool categorical = shape_.kind == ActionKind::categorical;
      for (std::size_t at = 0; at < (categorical ? theta.size() : 1);
           at += static_cast<std::size_t>(shape_.context_width))
        theta[at] += mean_without(left);
      out.theta.push_back(std::move(theta));
      for (int other = 0; other < Folds::kCount; ++other) {
        if (!left.has(other)) out.ranges[at_fold].add(ranges_[static_cast<std::size_t>(other)]);
      }
    }
    std::nth_element(steps.begin(), steps.begin() + Folds::kCount / 2, steps.end());
    out.penalty = penalty_at(steps[Folds::kCount / 2]);
    return out;
  }

  struct Totals {
    std::array<double, Folds::kCount> rows{}, loss{};
    std::array<LossRange, Folds::kCount> ranges{};
  };

  void find_means(bool skip_bad_rows) {
    const auto [totals, audit] = run_pass(
        source_, Totals{},
        [this](const Block& block, Totals& out) {
          out = {};
          const DesignRows::OfBlock of_rows = rows_.of(block);
          for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
            if (of_rows.keep[i] == 0) continue;
            out.rows[of_rows.folds[i]] += 1;
            out.loss[of_rows.folds[i]] += block.loss[i];
            out.ranges[of_rows.folds[i]].add({block.loss[i], block.loss[i]});
          }
        },
        [](Totals& a, const Totals& b) {
          for (std::size_t fold = 0; fold < Folds::kCount; ++fold) {
            a.rows[fold] += b.rows[fold];
            a.loss[fold] += b.loss[fold];
            a.ranges[fold].add(b.ranges[fold]);
          }
        },
        pass_);
    if (!skip_bad_rows) require_no_bad_rows(audit);
    fold_rows_ = totals.rows;
    fold_loss_ = totals.loss;
    ranges_ = totals.ranges;
  }

  double mean_without(const LeftOut& left_out) const {
    double count = 0, sum = 0;
    for (int fold = 0; fold < Folds::kCount; ++fold) {
      if (left_out.has(fold)) continue;
      count += fold_rows_[static_cast<std::size_t>(fold)];
      sum += fold_loss_[static_cast<std::size_t>(fold)];
    }
    return count > 0 ? sum / count : 0;
  }

  std::vector<Vector> products(const Coordinates& coordinates, std::span<const LeftOut> left_out,
                               std::span<const Vector> thetas) {
    Vector means;
    for (const LeftOut& one : left_out) means.push_back(mean_without(one));
    const FoldProducts reduction(rows_, source_.schema(), size_, left_out, thetas, means, memory_help_);
    const PassResult result = run_pass(source_, reduction, pass_);
    const Vector& sums = static_cast<const FoldProducts::Sums&>(*result.sums).values;
    std::vector<Vector> out;
    for (std::size_t at = 0; at < left_out.size(); ++at)
      out.push_back(coordinates.gradient(sums.data() + at * size_, size_));
    return out;
  }

  std::vector<Thetas> solve(const Coordinates& coordinates, std::span<const LeftOut> left_out) {
    std::vector<MultiShiftCg> searches;
    for (const Vector& b : products(coordinates, left_out, {})) searches.emplace_back(b);
    for (;;) {
      std::vector<std::size_t> active;
      std::vector<LeftOut> active_sets;
      std::vector<Vector> thetas;
      for (std::size_t at = 0; at < searches.size(); ++at) {
        if (searches[at].done()) continue;
        active.push_back(at);
        active_sets.push_back(left_out[at]);
        thetas.push_back(coordinates.to_theta(searches[at].direction()));
      }
      if (active.empty()) break;
      const std::vector<Vector> results = products(coordinates, active_sets, thetas);
      for (std::size_t at = 0; at < active.size(); ++at) searches[active[at]].step(results[at]);
    }
    std::vector<Thetas> out;
    for (const MultiShiftCg& search : searches) {
      out.emplace_back();
      for (const Vector& psi : search.solutions()) out.back().push_back(coordinates.to_theta(psi));
    }
    return out;
  }

  /// Squared errors of one of the folds that θ has not seen, for every penalty. Infinite where a θ is not a number.
  Vector held_errors(const LeftOut& left_out, int fold, const Thetas& thetas) {
    std::vector<ScoreMatrix> matrices;
    for (const Vector& theta : thetas) matrices.emplace_back(scorer(theta, rows_.outputs()), source_.schema());
    const double mean = mean_without(left_out);
    Pool<PolicyScratch> pool;
    const auto [errors, audit] = run_pass(
        source_, Vector(kPenalties),
        [&, this](const Block& block, Vector& out) {
          const Pool<PolicyScratch>::Lease scratch = pool.lease();
          double* columns = scratch->columns(PolicyScratch::kCallerSlot, rows_.outputs());
          alignas(kColumnAlignment) double values[kBlockRows];
          const DesignRows::OfBlock of_rows = rows_.of(block);
          for (std::size_t s = 0; s < matrices.size(); ++s) {
            rows_.predict(block, matrices[s], *scratch, columns, values);
            out[s] = 0;
            for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
              const double error = block.loss[i] - mean - values[i];
              if (of_rows.keep[i] != 0 && of_rows.folds[i] == fold) out[s] += error * error;
            }
          }
        },
        [](Vector& a, const Vector& b) { add(b, a); }, pass_);
    Vector out = errors;
    for (double& error : out) error = std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
    return out;
  }

  Source& source_;
  const RidgeShape& shape_;
  const RidgeUnits& units_;
  DesignRows rows_;
  std::size_t size_;
  const char* memory_help_;
  PassOptions pass_;
  std::array<double, Folds::kCount> fold_rows_{}, fold_loss_{};
  FoldRanges ranges_;
};

}  // namespace

ConjugateRidge fit_conjugate_ridge(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
                                   const RidgeOptions& options, const PassOptions& pass) {
  return ConjugateFit(source, shape, units, folds, options, pass).fit(options.cross_fitted);
}

}  // namespace scrm
