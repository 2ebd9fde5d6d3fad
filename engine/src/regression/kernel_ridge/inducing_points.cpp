#include "regression/kernel_ridge/inducing_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"

namespace scrm {
namespace {

// More states than these would cost more to look at than they cost the ridge itself.
constexpr std::int64_t kLeastOffered = 2048;
constexpr std::int64_t kOfferedPerPoint = 4;
constexpr std::int64_t kPointTile = 512;
// Where every state becomes a point, their order matters for rounding alone: so many are looked at together, which
// makes matrix products, and taken while they are not far below the largest of all.
constexpr std::int64_t kTakenAtOnce = 64;
constexpr double kFarBelow = 0.1;
// A residual below this share of the largest k(s, s) is as good as rounding, and dividing by its root would show it.
constexpr double kLeastResidual = 1e-13;

std::int64_t offered_of(std::int64_t states, std::optional<std::int64_t> most) {
  return most ? std::min(states, std::max(kLeastOffered, kOfferedPerPoint * *most)) : states;
}

}  // namespace

/// States that may become points, with what the points so far leave of each.
struct InducingPoints::Offer {
  Eigen::MatrixXd states;
  Eigen::MatrixXd basis;  // φ, one row a state, with room for the points to come
  Eigen::VectorXd residual;
  double trace = 0, least = 0;
};

bool InducingPoints::extend(const States& states, double tolerance, double noise) {
  if (states.cols() == 0 || count_ == most_) return false;
  Offer offer = make_offer(states);
  const double all_noise = noise * static_cast<double>(offer.states.cols());
  double enough = tolerance * (noise > 0 ? std::min(all_noise, offer.trace) : offer.trace);
  if (!most_) enough = 0;
  const std::int64_t before = count_, room = offer.basis.cols();
  points_.conservativeResize(kernel_.state_size(), room);
  root_.conservativeResize(room, room);
  std::vector<Eigen::Index> order(static_cast<std::size_t>(offer.residual.size()));
  std::iota(order.begin(), order.end(), 0);
  while (count_ < room && offer.residual.cwiseMax(0.0).sum() > enough) {
    // Ties go to the earlier state.
    const auto at_once = std::min<std::int64_t>(most_ ? 1 : kTakenAtOnce, std::ssize(order));
    std::partial_sort(order.begin(), order.begin() + at_once, order.end(), [&](Eigen::Index i, Eigen::Index j) {
      return offer.residual[i] != offer.residual[j] ? offer.residual[i] > offer.residual[j] : i < j;
    });
    if (offer.residual[order.front()] <= offer.least) break;
    take(offer, {order.begin(), order.begin() + at_once});
  }
  points_.conservativeResize(kernel_.state_size(), count_);
  root_.conservativeResize(count_, count_);
  return count_ != before;
}

void InducingPoints::fill(const States& states, Columns out) const {
  if (out.size() == 0) return;
  kernel_values(kernel_, this->states(), states, out);
  solve_triangular(root(), out);
}

Eigen::VectorXd InducingPoints::kernel_weights(Eigen::VectorXd v) const {
  solve_triangular(root().transpose(), v);
  return v;
}

InducingPoints::Offer InducingPoints::make_offer(const States& states) const {
  const std::int64_t count = offered_of(states.cols(), most_);
  Offer out;
  out.states.resize(states.rows(), count);
  for (std::int64_t i = 0; i < count; ++i) out.states.col(i) = states.col(i * states.cols() / count);
  out.residual = kernel_diagonal(kernel_, out.states);
  out.trace = out.residual.sum();
  out.least = kLeastResidual * out.residual.maxCoeff();
  out.basis.resize(count, std::min(most_.value_or(count_ + count), count_ + count));
  parallel_blocks(count, kPointTile, [&](std::int64_t first, std::int64_t n) {
    Eigen::MatrixXd phi(count_, n);
    fill(out.states.middleCols(first, n), phi);
    out.basis.block(first, 0, n, count_) = phi.transpose();
    out.residual.segment(first, n) -= phi.colwise().squaredNorm().transpose();
  });
  return out;
}

void InducingPoints::take(Offer& offer, const std::vector<Eigen::Index>& chosen) {
  const std::int64_t before = count_;
  const auto columns = static_cast<std::int64_t>(chosen.size());
  // Kernel values with the states chosen, less what the points before this call know of them.
  const Eigen::MatrixXd states = offer.states(Eigen::all, chosen),
                        known = offer.basis.leftCols(before)(chosen, Eigen::all);
  Eigen::MatrixXd left(offer.states.cols(), columns);
  parallel_blocks(left.rows(), kPointTile, [&](std::int64_t first, std::int64_t n) {
    Columns tile = left.middleRows(first, n);
    kernel_values(kernel_, offer.states.middleCols(first, n), states, tile);
    add_product(offer.basis.block(first, 0, n, before), known.transpose(), tile, -1);
  });
  const auto less = [&](Eigen::Index i, Eigen::Index j) { return offer.residual[i] < offer.residual[j]; };
  for (std::int64_t taken = 0; taken < columns && count_ < offer.basis.cols(); ++taken) {
    const std::int64_t c = std::max_element(chosen.begin(), chosen.end(), less) - chosen.begin();
    const Eigen::Index row = chosen[static_cast<std::size_t>(c)];
    const double square = offer.residual[row];
    if (square <= std::max(offer.least, kFarBelow * offer.residual.maxCoeff())) return;
    const double pivot = std::sqrt(square);
    auto column = left.col(c);
    const Eigen::VectorXd earlier = offer.basis.row(row).segment(before, count_ - before);
    add_product(offer.basis.middleCols(before, count_ - before), earlier, column, -1);
    offer.basis.col(count_) = column / pivot;
    offer.residual -= offer.basis.col(count_).cwiseAbs2();
    offer.residual[row] = 0;
    root_.row(count_).head(count_) = offer.basis.row(row).head(count_);
    root_(count_, count_) = pivot;
    points_.col(count_) = states.col(c);
    ++count_;
  }
}

double InducingPoints::bytes_needed(std::int64_t state_size, std::optional<std::int64_t> most,
                                    std::int64_t rows) noexcept {
  const auto size = static_cast<double>(state_size), offered = static_cast<double>(offered_of(rows, most));
  const auto points = static_cast<double>(most.value_or(rows));
  // L and the points, and both again while they grow; the offer.
  return (2 * points * (points + size) + offered * (points + size + 2)) * sizeof(double);
}

}  // namespace scrm
