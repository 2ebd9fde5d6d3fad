#include "report/sweep_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/terminal.hpp"

namespace scrm {
namespace {

constexpr double kRedrawSeconds = 0.1;

}  // namespace

SweepProgress::SweepProgress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

SweepProgress::~SweepProgress() {
  if (shown_) write_stderr("\r\033[K");
}

void SweepProgress::update(const SweepState& state) {
  if (!shown_) return;
  if (state.last != nullptr && state.last->ok) update_best(*state.last);
  const auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - drawn_).count() < kRedrawSeconds) return;
  drawn_ = now;
  std::string text = line(state, std::chrono::duration<double>(now - begin_).count());
  text.resize(std::min(text.size(), static_cast<std::size_t>(terminal_columns()) - 1));
  write_stderr("\r" + text + "\033[K");
}

void SweepProgress::update_best(const RunRecord& run) {
  const double lambda = std::isnan(run.hyperparameter) ? -1 : run.hyperparameter;
  const std::string name = fmt::format("{} {}", run.environment, run.method);
  auto& [sum, count] = sums_[name][lambda];
  sum += run.final_loss;
  ++count;
  best_ = name;
}

std::string SweepProgress::line(const SweepState& state, double seconds) const {
  const double left = state.share > 0 ? seconds * (1 - state.share) / state.share : std::nan("");
  std::string text = fmt::format("sweep  {}/{} runs  {:3.0f}%  {:.3g} M rows/s  {} left", state.done, state.runs,
                                 100 * state.share, state.rows_read / seconds / 1e6, human_seconds(left));
  if (state.failed > 0) text += fmt::format("  {} failed", state.failed);
  if (const auto found = sums_.find(best_); found != sums_.end()) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [lambda, sum] : found->second) best = std::min(best, sum.first / sum.second);
    text += fmt::format("  best {} {:.4f}", printable(best_), best);
  }
  return text;
}

}  // namespace scrm
