#include "reproduce/paper_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/charts/svg.hpp"
#include "report/charts/xy_chart.hpp"
#include "report/sweep/sweep_parts.hpp"

namespace scrm {
namespace {

// Example 3.1.
constexpr double kBestAction = 1, kSpread = 0.3;

double gaussian_loss(double theta, double spread) {
  return -1 + 0.2 * ((theta - kBestAction) * (theta - kBestAction) + spread * spread + kSpread * kSpread);
}

/// The protocol to show where one is enough.
const std::string& main_protocol(const ReproduceOptions& options) {
  return options.protocols.back();
}

std::vector<double> counted_from_one(std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(i + 1));
  return out;
}

/// Curves that the paper has no counterpart of would crowd its pictures.
bool in_figure_2(const std::string& label) {
  static const std::vector<std::string> kLeftOut = {"all-zeros", "majority", "scrm-balanced", "bkucb-bits"};
  return label.find("auto λ") == std::string::npos &&
         std::find(kLeftOut.begin(), kLeftOut.end(), label) == kLeftOut.end();
}

PageFigure study_figure(const EstimatorStudy& study, const char* name, const std::string& title, const Axis& axis,
                        MonteCarlo StudiedEstimate::*what) {
  XyChart chart{.title = title,
                .x = {.label = "target N(iπ/4, 1): i", .low = -0.5, .high = kStudyTargets - 0.5},
                .y = axis,
                .series = {}};
  for (const StudiedEstimate& estimate : study.estimates) {
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&estimate](const Series& one) { return one.name == estimate.estimator; });
    if (series == chart.series.end())
      series = chart.series.insert(series, {.name = estimate.estimator, .x = {}, .y = {}, .form = SeriesForm::points});
    const MonteCarlo& number = estimate.*what;
    series->x.push_back(estimate.target);
    series->y.push_back(number.mean);
    series->low.push_back(number.mean - 2 * number.error);
    series->high.push_back(number.mean + 2 * number.error);
  }
  return {name, draw(chart), "Bars: ± 2 Monte-Carlo standard errors."};
}

std::string with_error(const MonteCarlo& number) {
  return fmt::format("{:.3g} ± {:.1g}", number.mean, number.error);
}

}  // namespace

std::vector<PageBlock> figure_1(const PaperArchives& archives, const ReproduceOptions& options) {
  const ResultArchive* archive = archives.runs("gaussian-" + main_protocol(options));
  if (archive == nullptr) return {};
  XyChart along{.title = "Figure 1: where each rollout gets to, along the loss",
                .x = {.label = "θ of the learned policy"},
                .y = {.label = "expected loss L(θ)"},
                .series = {}};
  XyChart by_rollout{.title = "The same by rollout",
                     .x = {.label = "rollout"},
                     .y = {.label = "θ of the learned policy"},
                     .series = {},
                     .levels = {{"θ* = 1", kBestAction}}};
  const SweepSummary summary = summarize(archive->runs);
  std::size_t rollouts = 0;
  std::vector<std::string> ends;  // where each method gets to
  for (const char* method : {"crm", "scrm"}) {
    const SummaryLine* line = summary.environments.empty() ? nullptr : find_line(summary.environments.front(), method);
    if (line == nullptr) continue;
    const LearningCurve theta = mean_curve(line->runs, "theta_0");
    if (theta.mean.empty()) continue;
    rollouts = std::max(rollouts, theta.mean.size());
    ends.push_back(fmt::format("{} with {}", with_minus_sign(fmt::format("{:.2f}", theta.mean.back())), method));
    Series points{.name = method, .x = theta.mean, .y = {}, .form = SeriesForm::points};
    for (const double value : theta.mean) points.y.push_back(gaussian_loss(value, kSpread));
    along.series.push_back(std::move(points));
    Series curve{.name = method, .x = counted_from_one(theta.mean.size()), .y = theta.mean};
    for (std::size_t m = 0; m < theta.mean.size(); ++m) {
      curve.low.push_back(theta.mean[m] - theta.sd[m]);
      curve.high.push_back(theta.mean[m] + theta.sd[m]);
    }
    by_rollout.series.push_back(std::move(curve));
  }
  Series loss{.name = "L(θ)", .x = {}, .y = {}, .form = SeriesForm::line};
  for (int i = 0; i <= 100; ++i) {
    loss.x.push_back(0.9 + 1.7 * i / 100);
    loss.y.push_back(gaussian_loss(loss.x.back(), kSpread));
  }
  along.series.push_back(std::move(loss));
  return {PageText{fmt::format("SCRM deploys what it has learned, so that its next logs lie where it goes; CRM logs at "
                               "its start however many "
                               "rows it gets. After {} rollouts the mean θ is {}; the optimum is θ* = 1.",
                               rollouts, fmt::join(ends, " and "))},
          PageFigure{"fig1", draw(along), "Mean of θ over seeds after each rollout."},
          PageFigure{"fig1-rollouts", draw(by_rollout), "Mean over seeds, with bands of one standard deviation."}};
}

/// Mean final loss of the line of that name; NaN where there is none.
double final_mean(const EnvironmentSummary& environment, const std::string& label) {
  for (const SummaryLine& line : environment.lines) {
    if (line.label == label) return line.cell.mean;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<PageBlock> figure_2(const PaperArchives& archives, const ReproduceOptions& options) {
  std::vector<PageBlock> blocks = {PageText{}};
  std::vector<std::string> lower, not_lower;  // environments, by where SCRM ends beside CRM
  std::vector<std::string> environments = {"gaussian", "pricing", "advertising"};
  environments.insert(environments.end(), options.data_sets.begin(), options.data_sets.end());
  for (const std::string& name : environments) {
    EnvironmentSummary environment = archives.environment(name, main_protocol(options));
    std::erase_if(environment.lines, [](const SummaryLine& line) { return !in_figure_2(line.label); });
    if (environment.lines.empty()) continue;
    const double crm = final_mean(environment, "crm"), scrm = final_mean(environment, "scrm");
    if (std::isfinite(crm) && std::isfinite(scrm)) (scrm < crm ? lower : not_lower).push_back(name);
    // The two that it is about have the same colours everywhere.
    std::stable_partition(environment.lines.begin(), environment.lines.end(),
                          [](const SummaryLine& line) { return line.label == "crm" || line.label == "scrm"; });
    XyChart chart = loss_chart(environment);
    chart.title = "Figure 2: " + name;
    blocks.push_back(PageFigure{"fig2-" + name, draw(chart), "Mean over seeds, with bands of one standard deviation."});
  }
  const auto names = [](const std::vector<std::string>& list) {
    return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
  };
  blocks.front() = PageText{fmt::format(
      "SCRM deploys what it learned and learns again from what that logs; CRM has as many rows, all from the first "
      "policy. SCRM ends at the lower mean loss on: {}; not on: {}. Methods that learn nothing are dashed.",
      names(lower), names(not_lower))};
  return blocks;
}

std::vector<PageBlock> figure_3(const EstimatorStudy& study) {
  std::vector<PageBlock> blocks = {PageText{fmt::format(
      "{} logs of {} rows with losses cos(a), logged by N(0, 1), and the value of N(iπ/4, 1) by every "
      "estimator; the truth is e^(−1/2) cos(iπ/4). The further the target, the heavier the weights: ips "
      "has no bias in expectation, but the rows that keep it so get ever rarer, and its variance grows; what "
      "limits weights or divides by their sum trades variance for bias. Models are ridge regressions on (1, a, a²), "
      "cross-fitted: dm alone is as good as its parabola is like a cosine.",
      study.logs, study.rows)}};
  blocks.push_back(study_figure(study, "fig3-bias", "Figure 3: bias", {.label = "bias"}, &StudiedEstimate::bias));
  blocks.push_back(study_figure(study, "fig3-variance", "Figure 3: variance",
                                {.label = "variance (logarithmic)", .kind = ScaleKind::logarithmic},
                                &StudiedEstimate::variance));
  blocks.push_back(study_figure(study, "fig3-error", "Figure 3: mean squared error",
                                {.label = "mean squared error (logarithmic)", .kind = ScaleKind::logarithmic},
                                &StudiedEstimate::squared_error));
  XyChart weight{.title = "Figure 3: mean weight",
                 .x = {.label = "target N(iπ/4, 1): i", .low = -0.5, .high = kStudyTargets - 0.5},
                 .y = {.label = "mean weight"},
                 .series = {{.name = "", .x = {}, .y = {}, .form = SeriesForm::points}},
                 .levels = {{"1", 1}}};
  for (std::size_t i = 0; i < study.mean_weight.size(); ++i) {
    const MonteCarlo& number = study.mean_weight[i];
    Series& series = weight.series.front();
    series.x.push_back(static_cast<double>(i));
    series.y.push_back(number.mean);
    series.low.push_back(number.mean - 2 * number.error);
    series.high.push_back(number.mean + 2 * number.error);
  }
  blocks.push_back(PageFigure{"fig3-weight", draw(weight), "Bars: ± 2 Monte-Carlo standard errors."});
  ReportTable table{.name = "fig3",
                    .caption = "Figure 3 in numbers, each ± its Monte-Carlo standard error.",
                    .columns = {{"estimator"},
                                {"i", true},
                                {"truth", true},
                                {"bias", true},
                                {"variance", true},
                                {"mean squared error", true}},
                    .rows = {}};
  for (const StudiedEstimate& one : study.estimates)
    table.add({one.estimator, fmt::format("{}", one.target), rounded(one.truth, 4), with_error(one.bias),
               with_error(one.variance), with_error(one.squared_error)});
  blocks.push_back(std::move(table));
  return blocks;
}

std::vector<PageBlock> figure_4(const PaperArchives& archives, const ReproduceOptions& options) {
  const ResultArchive* archive = archives.runs("distance");
  if (archive == nullptr) return {};
  const SweepSummary summary = summarize(archive->runs);
  XyChart chart{.title = "Figure 4: best final loss by the distance of the start",
                .x = {.label = "distance |θ₀ − θ*| (logarithmic)", .kind = ScaleKind::logarithmic},
                .y = {.label = "final loss, best spread"},
                .series = {},
                .levels = {{"L(θ*)", gaussian_loss(kBestAction, kSpread)}}};
  constexpr double kMostOfTheWay = 0.7;  // the least of table 1's shares
  std::vector<std::string> furthest;
  for (const char* method : {"crm", "scrm"}) {
    Series series{.name = method, .x = {}, .y = {}};
    double reached = 0;  // the furthest start from which it gets most of the way
    for (const double distance : distances(options)) {
      double best = std::numeric_limits<double>::quiet_NaN();
      for (const double spread : spreads(options)) {
        const SummaryLine* line = find_line(summary.environments.front(), distance_method(method, distance, spread));
        if (line != nullptr && !(line->cell.mean >= best)) best = line->cell.mean;
      }
      series.x.push_back(distance);
      series.y.push_back(best);
      if (best <= kMostOfTheWay * gaussian_loss(kBestAction, kSpread)) reached = std::max(reached, distance);
    }
    furthest.push_back(reached > 0 ? fmt::format("{} {:g}", method, reached) : fmt::format("{} none", method));
    chart.series.push_back(std::move(series));
  }
  return {
      PageText{fmt::format(
          "Both start from a policy at a distance from the best one, and may take the spread that serves them best. "
          "SCRM can walk back step by step, as far as its rollouts go; CRM learns from what is logged at the start "
          "alone. The furthest start from which at least {:.0f} % of L(θ*) is reached: {}.",
          100 * kMostOfTheWay, fmt::join(furthest, ", "))},
      PageFigure{"fig4", draw(chart),
                 fmt::format("Mean over seeds after {} rollouts; the best of the spreads {}.", options.quick ? 10 : 15,
                             options.quick ? "0.3 and 3" : "0.1, 0.3, 1 and 3")}};
}

std::vector<PageBlock> figure_8() {
  struct Exponent {
    const char* name;
    double beta;
  };
  XyChart chart{.title = "Figure 8: the ratio (e^(δ²) − 1)/δ^(2β)",
                .x = {.label = "distance δ", .low = 0, .high = 2},
                .y = {.label = "ratio", .low = 0, .high = 10},
                .series = {}};
  for (const Exponent& exponent : {Exponent{"β = 1", 1}, {"β = 1/2", 0.5}, {"β = 1/3", 1.0 / 3}, {"β = 0", 0}}) {
    Series series{.name = exponent.name, .x = {}, .y = {}, .form = SeriesForm::line};
    for (int i = 1; i <= 200; ++i) {
      const double delta = 2.0 * i / 200;
      const double ratio = std::expm1(delta * delta) / std::pow(delta, 2 * exponent.beta);
      if (ratio > 10) break;  // beyond the picture
      series.x.push_back(delta);
      series.y.push_back(ratio);
    }
    chart.series.push_back(std::move(series));
  }
  return {PageText{
              "e^(δ²) − 1 is the variance of weights between two gaussian policies at distance δ. Its ratio to δ^(2β) "
              "stays "
              "bounded near zero for every β up to 1: the closer SCRM gets, the less its estimates vary, which is what "
              "its faster rate rests on."},
          PageFigure{"fig8", draw(chart), "In closed form."}};
}

}  // namespace scrm
