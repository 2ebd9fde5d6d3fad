#include "learn/search/searches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "learn/features/context_whitening.hpp"
#include "learn/replayed_objective.hpp"
#include "learn/search/minimizer.hpp"
#include "learn/search/search_coordinates.hpp"
#include "pass/source/sampled_source.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

/// Where there are as many blocks, the way is found on a sample of them. What is left to do on all rows begins next to
/// the optimum and knows the curvature there.
constexpr std::int64_t kSampledBlocks = 128;
constexpr double kSampleShare = static_cast<double>(SampledSource::kTogether) / SampledSource::kStride;
/// Share of the gradient at the start below which the sample has no more to say: it is a sample.
constexpr double kSampleTolerance = 1e-4;
/// What a tolerance of zero stands for when progress is shown, and how much of it a search can show that goes on.
constexpr double kSmallestNorm = 1e-12;
constexpr double kAlmostDone = 0.98;

/// A search under way: turns points into problems and values of objectives into what the minimiser is told.
class ActiveSearch {
 public:
  ActiveSearch(Search& search, const LearnOptions& options, const ContextWhitening* white)
      : search_(&search),
        options_(&options),
        coordinates_(white, options.standardize && !options.minimize.bound ? unit_of(search.start.policy) : 1,
                     options.min_scale),
        minimizer_(first_point(), options.minimize) {}

  bool done() const { return minimizer_.done(); }
  /// A guess at how much of the way is behind it.
  double share() const { return done() && !on_sample_ && !left_sample_ ? 1 : share_; }

  ObjectiveProblem ask() const {
    ObjectiveProblem problem = search_->start;
    coordinates_.apply(minimizer_.ask(), problem.policy);
    // The penalty of all rows.
    if (on_sample_ && problem.rules.penalty == Penalty::se) problem.rules.lambda *= std::sqrt(kSampleShare);
    return problem;
  }

  /// Takes the value of the start on all rows; until leave_sample(), the search is then one on the sample.
  void enter_sample(ObjectiveValue at_start) {
    MinimizeOptions rough = options_->minimize;
    rough.tolerance =
        std::max(rough.tolerance, kSampleTolerance * norm_of(coordinates_.gradient(first_point(), at_start.gradient)));
    minimizer_ = Minimizer(first_point(), rough);
    passes_ = 1;
    record(first_point(), std::move(at_start));
    on_sample_ = true;
  }

  void leave_sample() {
    minimizer_.resume(options_->minimize);
    on_sample_ = false;
    left_sample_ = true;
  }

  void tell(ObjectiveValue value) {
    if (std::exchange(left_sample_, false) && !(value.objective < search_->result.value.objective)) {
      // The sample led astray.
      minimizer_ = Minimizer(first_point(), options_->minimize);
      ++passes_;
      return;
    }
    const std::vector<double> point = minimizer_.ask();
    const std::vector<double> gradient = coordinates_.gradient(point, value.gradient);
    follow(norm_of(gradient));
    minimizer_.tell(value.objective, gradient);
    if (on_sample_) return;
    record(point, std::move(value));
    if (done()) finish();
  }

 private:
  std::vector<double> first_point() const { return coordinates_.point_of(search_->start.policy); }

  /// Gradients shrink by about the same factor in every iteration.
  void follow(double gradient_norm) {
    if (!(gradient_norm > 0) || !std::isfinite(gradient_norm)) return;
    if (first_norm_ == 0) first_norm_ = gradient_norm;
    const double way = std::log(first_norm_ / std::max(options_->minimize.tolerance, kSmallestNorm));
    if (way > 0) share_ = std::clamp(std::log(first_norm_ / gradient_norm) / way, share_, kAlmostDone);
  }

  int evaluations() const { return passes_ + minimizer_.result().evaluations; }

  /// Keeps the value at a point if it is the lowest so far.
  void record(const std::vector<double>& point, ObjectiveValue value) {
    LearnedPolicy& out = search_->result;
    if (!std::isfinite(value.objective) || (!out.path.empty() && !(value.objective < out.value.objective))) return;
    out.path.push_back({evaluations(), value.objective, value.risk, value.penalty + value.ridge,
                        norm_of(coordinates_.plain().gradient(point, value.gradient)), value.ess, value.mean_weight});
    if (search_->report && options_->on_progress) options_->on_progress(out.path.back());
    out.value = std::move(value);
  }

  void finish() {
    LearnedPolicy& out = search_->result;
    out.search = minimizer_.result();
    out.search.evaluations = evaluations();
    if (!coordinates_.is_plain() && !out.path.empty()) out.search.gradient_norm = out.path.back().gradient_norm;
    out.policy = search_->start.policy;
    coordinates_.apply(out.search.point, out.policy);
    out.search.point = out.policy.theta;
    out.lambda = search_->start.rules.lambda;
  }

  Search* search_;
  const LearnOptions* options_;
  SearchCoordinates coordinates_;
  Minimizer minimizer_;
  bool on_sample_ = false;
  bool left_sample_ = false;  // and not been told of all rows since
  int passes_ = 0;            // over all rows, that the minimiser does not know of
  double first_norm_ = 0;
  double share_ = 0;
};

/// The searches under way among all that are wanted.
struct ShareRange {
  std::size_t before = 0;
  std::size_t all = 0;

  double at(const std::vector<ActiveSearch>& active) const {
    auto done = static_cast<double>(before);
    for (const ActiveSearch& search : active) done += search.share();
    return done / static_cast<double>(all);
  }
};

/// Runs searches in lock step: one pass over the rows answers all that are not done. What a search is told does not
/// depend on the others, so results are the same bits as if it ran alone.
void run_in_lock_step(Source& source, std::vector<ActiveSearch>& searches, const LearnOptions& options,
                      const PassOptions& pass, const ShareRange& range, ReplayedWorkspace& workspace) {
  std::vector<ActiveSearch*> active;
  for (ActiveSearch& search : searches) active.push_back(&search);
  while (!active.empty()) {
    std::vector<ObjectiveProblem> problems;
    for (const ActiveSearch* one : active) problems.push_back(one->ask());
    std::vector<ObjectiveValue> values = evaluate_objectives(source, problems, pass, options.skip_bad_rows, workspace);
    for (std::size_t i = 0; i < active.size(); ++i) active[i]->tell(std::move(values[i]));
    if (options.on_share) options.on_share(range.at(searches));
    std::erase_if(active, [](const ActiveSearch* one) { return one->done(); });
  }
}

/// Brings searches next to their optima on a sample of the rows.
void search_sample(Source& source, SampledSource& sample, std::vector<ActiveSearch>& searches,
                   const LearnOptions& options, const PassOptions& pass, const ShareRange& range,
                   ReplayedWorkspace& workspace) {
  std::vector<ObjectiveProblem> starts;
  for (const ActiveSearch& search : searches) starts.push_back(search.ask());
  std::vector<ObjectiveValue> values = evaluate_objectives(source, starts, pass, options.skip_bad_rows, workspace);
  for (std::size_t i = 0; i < searches.size(); ++i) searches[i].enter_sample(std::move(values[i]));
  run_in_lock_step(sample, searches, options, pass, range, workspace);
  for (ActiveSearch& search : searches) search.leave_sample();
}

// Rows that stay in the cache between passes: sharing a pass saves no time there, and takes the memory of all searches.
constexpr std::int64_t kCachedBytes = 8 << 20;

bool fits_in_cache(const Source& source) {
  return dynamic_cast<const MemorySource*>(&source) != nullptr &&
         static_cast<std::int64_t>(block_buffer_bytes(source.schema())) * source.blocks() <= kCachedBytes;
}

/// What one search under way holds: points and gradients, and pairs of them from which it knows the curvature.
std::size_t active_search_bytes(const Search& search, const LearnOptions& options) {
  constexpr std::size_t kPoints = 10;
  const std::size_t points = kPoints + 2 * static_cast<std::size_t>(std::max(0, options.minimize.history));
  return points * search.start.policy.theta.size() * sizeof(double);
}

/// How many searches share their passes. Half of the memory at most is theirs: passes need the rest.
std::size_t searches_together(const Source& source, std::span<const Search> searches, const LearnOptions& options,
                              const PassOptions& pass) {
  if (fits_in_cache(source)) return 1;
  if (pass.memory == 0) return searches.size();
  const std::size_t bytes = std::max<std::size_t>(1, active_search_bytes(searches.front(), options));
  return std::clamp<std::size_t>(pass.memory / 2 / bytes, 1, searches.size());
}

}  // namespace

bool searches_twice(const Source& source, const LearnOptions& options) {
  return options.standardize && !options.minimize.bound && source.blocks() < kSampledBlocks;
}

double norm_of(const std::vector<double>& gradient) {
  double norm = 0;
  for (const double g : gradient) norm += g * g;
  return std::sqrt(norm);
}

std::size_t search_bytes(const Policy& start) noexcept {
  // The start, the policy found, its gradient and its point, and once more to be scored.
  constexpr std::size_t kThetas = 5;
  // Besides: what was asked, what came of it and the steps on the way, in small allocations. Measured at 1.6 KB.
  constexpr std::size_t kSearchBytes = 2560;
  return kThetas * start.theta.size() * sizeof(double) + kSearchBytes;
}

PassOptions beside_searches(const Source& source, const Policy& start, std::size_t count, std::size_t masks,
                            const PassOptions& pass) {
  MemoryLedger ledger(pass.memory);
  ledger.charge(count * search_bytes(start),
                fmt::format("running {} of {} each", count == 1 ? "a search" : fmt::format("{} searches", count),
                            count_of(start.theta.size(), "parameter")),
                "fewer values of --lambda or --lambda-grid, or fewer --restarts");
  ledger.charge(masks * static_cast<std::size_t>(source.rows()) / 8, "marking the rows of each split",
                "one --lambda instead of auto");
  PassOptions inner = pass;
  inner.memory = ledger.left();
  return inner;
}

void require_objective(const LearnedPolicy& found) {
  if (std::isfinite(found.search.value)) return;
  throw Error(ErrorKind::data,
              "the objective is beyond the largest number already at the start policy: the losses are too large to be "
              "squared; divide all losses by a constant");
}

void run_searches(Source& source, std::span<Search> searches, const LearnOptions& options, const PassOptions& pass) {
  const bool sampled = options.sample_first && !options.minimize.bound && source.schema().replays == 1 &&
                       source.blocks() >= kSampledBlocks;
  SampledSource sample(source);
  std::optional<ContextWhitening> whitening;
  const bool cheap = ContextWhitening::is_cheap(source.schema(), searches.front().start.policy);
  if ((options.standardize || ((options.whiten || sampled) && cheap)) && !options.minimize.bound) {
    whitening = ContextWhitening::make(sampled ? static_cast<Source&>(sample) : source, searches.front().start.policy,
                                       options.rules.l2, options.standardize, pass);
  }
  ReplayedWorkspace workspace;
  const std::size_t together = searches_together(source, searches, options, pass);
  MemoryLedger ledger(pass.memory);
  ledger.charge(together * active_search_bytes(searches.front(), options), "the search over all parameters",
                "fewer actions or features");
  PassOptions inner = pass;
  inner.memory = ledger.left();
  for (std::size_t first = 0; first < searches.size(); first += together) {
    std::vector<ActiveSearch> active;
    for (Search& search : searches.subspan(first, together)) {
      active.emplace_back(search, options, whitening && !search.plain ? &*whitening : nullptr);
    }
    const ShareRange range{first, searches.size()};
    if (sampled) search_sample(source, sample, active, options, inner, range, workspace);
    run_in_lock_step(source, active, options, inner, range, workspace);
  }
}

}  // namespace scrm
