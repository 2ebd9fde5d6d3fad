#include "scrm/experiments/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace scrm {

namespace {

const char* to_string(KernelKind kind) noexcept {
  switch (kind) {
    case KernelKind::linear:
      return "linear";
    case KernelKind::polynomial:
      return "polynomial";
    case KernelKind::gaussian:
      return "gaussian";
    case KernelKind::bits:
      return "bits";
  }
  return "";
}

}  // namespace

const char* to_string(Protocol protocol) noexcept {
  return protocol == Protocol::paper ? "paper" : "published";
}

const char* to_string(PastRollouts past) noexcept {
  switch (past) {
    case PastRollouts::last:
      return "last";
    case PastRollouts::naive:
      return "all-naive";
    case PastRollouts::balance:
      return "all-balance";
  }
  return "";
}

const char* to_string(BetaRule rule) noexcept {
  return rule == BetaRule::rows ? "rows" : "batches";
}

const char* to_string(ActionEncoding encoding) noexcept {
  return encoding == ActionEncoding::integer ? "integer" : "bits";
}

const char* to_string(LambdaKind kind) noexcept {
  switch (kind) {
    case LambdaKind::given:
      return "given";
    case LambdaKind::automatic:
      return "auto";
    case LambdaKind::theory:
      return "theory";
    case LambdaKind::log_rows:
      return "log-rows";
  }
  return "";
}

std::string describe(const RunOptions& options) {
  std::string text;
  const auto line = [&text](const char* name, const auto& value) { text += fmt::format("{} = {}\n", name, value); };
  const auto optional = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "auto"; };
  line("protocol", to_string(options.protocol));
  line("rollouts", options.rollouts);
  line("first_batch", options.batches.first);
  line("growth", options.batches.growth == Growth::doubling ? "doubling" : "linear");
  line("estimator", to_string(options.estimator));
  line("penalty", options.penalty == Penalty::se ? "se" : "sd");
  line("lambda_candidates", fmt::format("[{}]", fmt::join(options.lambda_candidates, ", ")));
  line("alpha", optional(options.alpha));
  line("largest_weight", options.largest_weight);
  line("bound", options.bound ? fmt::format("[{}, {}]", options.bound->first, options.bound->second) : "none");
  line("past", to_string(options.past));
  line("warm_start", options.warm_start);
  line("max_iterations", options.max_iterations);
  line("tolerance", options.tolerance);
  line("relative_decrease", options.relative_decrease);
  line("epsilon", options.epsilon);
  line("mixing", options.mixing == Mixing::label ? "label" : "joint");
  line("replays", options.replays);
  line("bonus", optional(options.bonus));
  line("projection", options.projection);
  line("unit_length", options.unit_length ? (*options.unit_length ? "true" : "false") : "auto");
  const BanditOptions& bandit = options.bandit;
  line("kernel", bandit.kernel ? to_string(*bandit.kernel) : "auto");
  line("degree", bandit.degree);
  line("length", bandit.length);
  line("beta", to_string(bandit.beta));
  line("encoding", to_string(bandit.encoding));
  line("points", bandit.points ? fmt::format("{}", *bandit.points) : "auto");
  line("compare_points", bandit.compare_points ? "true" : "false");
  line("bandit_lambdas", bandit.lambdas ? fmt::format("[{}]", fmt::join(*bandit.lambdas, ", ")) : "auto");
  return text;
}

}  // namespace scrm
