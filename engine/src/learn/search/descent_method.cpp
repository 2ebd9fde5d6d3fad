#include "learn/search/descent_method.hpp"

#include <LBFGSpp/BFGSMat.h>
#include <LBFGSpp/Cauchy.h>
#include <LBFGSpp/LineSearchMoreThuente.h>
#include <LBFGSpp/Param.h>
#include <LBFGSpp/SubspaceMin.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "learn/search/line_search.hpp"

namespace scrm {
namespace {

using Eigen::VectorXd;

class Lbfgs final : public DescentMethod {
 public:
  Lbfgs(VectorXd start, int history) : DescentMethod(std::move(start)) {
    inverse_hessian_.reset(static_cast<int>(now.x.size()), history);
  }

  double gradient_norm() const override { return now.gradient.norm(); }

  void begin() override {
    inverse_hessian_.apply_Hv(now.gradient, -1.0, direction_);
    begin_line_search(inverse_hessian_.num_corrections() > 0 ? 1 : 1 / direction_.norm());
  }

  bool line_search_ends() override {
    if (line_search_->accepts(now.value, now.gradient.dot(direction_))) return true;
    now.x.noalias() = from_.x + line_search_->step() * direction_;
    return false;
  }

  void next_direction() override {
    inverse_hessian_.add_correction(now.x - from_.x, now.gradient - from_.gradient);
    inverse_hessian_.apply_Hv(now.gradient, -1.0, direction_);
    begin_line_search(1);
  }

 private:
  void begin_line_search(double step) {
    from_ = now;
    line_search_.emplace(from_.value, from_.gradient.dot(direction_), step);
    now.x.noalias() = from_.x + step * direction_;
  }

  LBFGSpp::BFGSMat<double> inverse_hessian_;
  VectorXd direction_;
  Iterate from_;
  std::optional<WolfeLineSearch> line_search_;
};

class LbfgsInBox final : public DescentMethod {
 public:
  LbfgsInBox(VectorXd start, int history, std::pair<double, double> bound, std::size_t unbounded)
      : DescentMethod(std::move(start)),
        low_(VectorXd::Constant(now.x.size(), bound.first)),
        high_(VectorXd::Constant(now.x.size(), bound.second)),
        cauchy_point_(now.x.size()) {
    const auto free = static_cast<Eigen::Index>(unbounded);
    low_.tail(free).setConstant(-std::numeric_limits<double>::infinity());
    high_.tail(free).setConstant(std::numeric_limits<double>::infinity());
    hessian_.reset(static_cast<int>(now.x.size()), history);
    parameters_.max_linesearch = 60;
    project();
  }

  /// ‖clamp(x − g) − x‖∞
  double gradient_norm() const override {
    return ((now.x - now.gradient).cwiseMax(low_).cwiseMin(high_) - now.x).cwiseAbs().maxCoeff();
  }

  void begin() override {
    find_cauchy_point();
    direction_.noalias() = cauchy_point_ - now.x;
    direction_.normalize();
    begin_line_search();
  }

  bool line_search_ends() override {
    evaluated_.push_back(now);
    return replay_line_search();
  }

  void next_direction() override {
    const VectorXd step = now.x - from_.x;
    const VectorXd change = now.gradient - from_.gradient;
    // Without curvature along the step, the approximation would not stay positive definite.
    if (step.dot(change) > std::numeric_limits<double>::epsilon() * change.squaredNorm()) {
      hessian_.add_correction(step, change);
    }
    project();
    find_cauchy_point();
    LBFGSpp::SubspaceMin<double>::subspace_minimize(hessian_, now.x, cauchy_point_, now.gradient, low_, high_,
                                                    cauchy_step_, newly_active_, free_, parameters_.max_submin,
                                                    direction_);
    begin_line_search();
  }

 private:
  void project() { now.x.noalias() = now.x.cwiseMax(low_).cwiseMin(high_); }

  void find_cauchy_point() {
    LBFGSpp::Cauchy<double>::get_cauchy_point(hessian_, now.x, now.gradient, low_, high_, cauchy_point_, cauchy_step_,
                                              newly_active_, free_);
  }

  void begin_line_search() {
    from_ = now;
    evaluated_.clear();
    longest_step_ = parameters_.max_step;
    for (Eigen::Index i = 0; i < direction_.size(); ++i) {
      if (direction_[i] == 0) continue;
      const double wall = direction_[i] > 0 ? high_[i] : low_[i];
      longest_step_ = std::min(longest_step_, (wall - from_.x[i]) / direction_[i]);
    }
    replay_line_search();
  }

  /// The library's line search calls the objective itself. It is short and deterministic: so it runs again from its
  /// first step, is given what is known by now, and is left where it asks for a point that has not been evaluated yet.
  bool replay_line_search() {
    struct NotEvaluated {};
    auto known = evaluated_.begin();
    const auto objective = [&](const VectorXd&, VectorXd& gradient) {
      if (known == evaluated_.end()) throw NotEvaluated{};
      gradient = known->gradient;
      return (known++)->value;
    };
    now = from_;
    double step = std::min(1.0, longest_step_);
    try {
      LBFGSpp::LineSearchMoreThuente<double>::LineSearch(objective, now.value, now.x, now.gradient, step, longest_step_,
                                                         direction_, from_.x, parameters_);
    } catch (const NotEvaluated&) {
      return false;
    }
    return true;
  }

  VectorXd low_, high_;
  LBFGSpp::LBFGSBParam<double> parameters_;
  LBFGSpp::BFGSMat<double, true> hessian_;
  VectorXd cauchy_point_, cauchy_step_, direction_;
  std::vector<int> newly_active_, free_;
  Iterate from_;
  double longest_step_ = 0;
  std::vector<Iterate> evaluated_;  // by this line search
};

}  // namespace

std::unique_ptr<DescentMethod> make_descent_method(const std::vector<double>& start, const MinimizeOptions& options) {
  VectorXd x = Eigen::Map<const VectorXd>(start.data(), std::ssize(start));
  if (!options.bound) return std::make_unique<Lbfgs>(std::move(x), options.history);
  return std::make_unique<LbfgsInBox>(std::move(x), options.history, *options.bound, options.unbounded);
}

}  // namespace scrm
