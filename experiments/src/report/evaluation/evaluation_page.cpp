#include "report/evaluation/evaluation_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "report/charts/forest_chart.hpp"
#include "report/charts/histogram_chart.hpp"
#include "report/charts/svg.hpp"
#include "report/terminal.hpp"
#include "report/text/estimate_format.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Json = nlohmann::ordered_json;

// A picture of more rows than this is easier to read in parts.
constexpr std::size_t kMostForestRows = 48;

struct EstimateLine {
  std::string policy, estimator;
  std::optional<double> value, error, low, high;
};

std::optional<double> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text(const Json& object, const char* key, const char* otherwise = "") {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// The list under this key; nothing where there is none.
const Json& list(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : empty;
}

const Json& part(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : empty;
}

int decimals_of(const EstimateLine& line) {
  return decimals_for(line.error, line.value.value_or(0));
}

std::string page_number(const std::optional<double>& value, int decimals) {
  return with_minus_sign(shown(value, decimals, "—"));
}

std::string page_interval(const EstimateLine& line) {
  return with_minus_sign(interval_text(line.low, line.high, decimals_of(line), "—"));
}

class EvaluationPage {
 public:
  EvaluationPage(const Json& evaluation, const std::string& name) : json_(evaluation), name_(name) {
    if (!json_.is_object() || !json_.contains("rows") || list(json_, "policies").empty()) fail();
    for (const Json& policy : list(json_, "policies")) {
      if (!policy.is_object()) fail();
      add_estimates(policy, list(policy, "estimates"), values_);
      add_estimates(policy, list(part(policy, "difference"), "estimates"), differences_);
    }
    if (values_.empty()) fail();
    outcome_ = text(json_, "outcome", "loss");
  }

  Page page() const {
    Page page;
    page.title = "Evaluation report: " + std::filesystem::path(name_).filename().string();
    page.lead = lead();
    PageSection warnings{"What to think of it", {}};
    add_warnings(warnings);
    PageSection values{"Values", {}};
    add_forests(values_, "values", fmt::format("Mean {} of each policy", outcome_), fmt::format("mean {}", outcome_),
                logged(), values);
    values.blocks.push_back(estimate_table(values_, "estimates", "value"));
    page.sections = {std::move(warnings), std::move(values)};
    if (!differences_.empty()) {
      PageSection section{"Differences", {}};
      add_forests(differences_, "differences", fmt::format("Policy minus {}", baseline()),
                  fmt::format("difference of the mean {}", outcome_), ForestReference{"no difference", 0.0}, section);
      section.blocks.push_back(estimate_table(differences_, "difference-estimates", "difference"));
      page.sections.push_back(std::move(section));
    }
    PageSection weights{"Weights", {diagnostics_table()}};
    add_histograms(weights);
    page.sections.push_back(std::move(weights));
    page.data = json_;
    return page;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::data,
                "is no result of `scrm evaluate --json`, which has rows, and policies with their estimates; write one "
                "with `scrm evaluate DATA --policy FILE --json > evaluation.json`",
                {.file = name_});
  }

  static void add_estimates(const Json& policy, const Json& estimates, std::vector<EstimateLine>& out) {
    for (const Json& estimate : estimates) {
      if (!estimate.is_object()) continue;
      out.push_back({text(policy, "name"), text(estimate, "estimator"), number(estimate, "value"),
                     number(estimate, "stderr"), number(estimate, "low"), number(estimate, "high")});
    }
  }

  double rows() const { return number(json_, "rows").value_or(0); }

  std::string interval_name() const {
    const Json& interval = part(json_, "interval");
    return fmt::format("{:g} % intervals ({})", 100 * number(interval, "level").value_or(0.95),
                       text(interval, "kind", "unknown"));
  }

  std::string lead() const {
    std::string out = fmt::format("{} of logged decisions, {}.", counted(std::llround(rows()), "row"), interval_name());
    if (const auto mean = number(part(json_, "logged_loss"), "mean"))
      out += fmt::format(" The logged actions had a mean {} of {}.", outcome_, with_minus_sign(human_number(*mean)));
    if (const double skipped = number(json_, "skipped_rows").value_or(0); skipped > 0)
      out += fmt::format(" {} left out.", counted(std::llround(skipped), "bad row"));
    return out;
  }

  void add_warnings(PageSection& section) const {
    PageWarnings warnings;
    for (const Json& warning : list(json_, "warnings")) {  // of the data; files of before have none
      if (warning.is_string()) warnings.texts.push_back(warning.get<std::string>());
    }
    for (const Json& policy : list(json_, "policies")) {
      for (const Json& warning : list(part(policy, "diagnostics"), "warnings")) {
        if (warning.is_string())
          warnings.texts.push_back(fmt::format("{}: {}", text(policy, "name"), warning.get<std::string>()));
      }
    }
    section.blocks.push_back(PageText{warnings.texts.empty()
                                          ? "Nothing speaks against these numbers: weights average to one as far as "
                                            "can be told, and enough rows count."
                                          : "Read these first; the numbers below are no better than they allow."});
    if (!warnings.texts.empty()) section.blocks.push_back(std::move(warnings));
    section.blocks.push_back(PageText{
        "Then look at the difference to what runs now: where its interval does not hold zero, the policies differ. For "
        "the "
        "value itself snips is the first choice; where it disagrees with ips by more than their intervals allow, trust "
        "neither before you know why."});
  }

  std::optional<ForestReference> logged() const {
    const auto mean = number(part(json_, "logged_loss"), "mean");
    return mean ? std::optional(ForestReference{"logged actions", *mean}) : std::nullopt;
  }

  std::string baseline() const {
    for (const Json& policy : list(json_, "policies")) {
      const std::string name = text(part(policy, "difference"), "baseline");
      if (!name.empty()) return name == "logged" ? "the logged actions" : name;
    }
    return "the baseline";
  }

  /// Whole policies, as many in a picture as are easy to read.
  void add_forests(const std::vector<EstimateLine>& lines, const std::string& name, const std::string& title,
                   const std::string& label, const std::optional<ForestReference>& reference,
                   PageSection& section) const {
    for (std::size_t first = 0; first < lines.size();) {
      std::size_t last = first;
      while (last < lines.size() && (last - first < kMostForestRows || lines[last].policy == lines[last - 1].policy))
        ++last;
      ForestChart chart{.title = title, .label = label, .rows = {}, .reference = reference};
      for (std::size_t i = first; i < last; ++i) {
        const EstimateLine& line = lines[i];
        chart.rows.push_back({line.policy, line.estimator, line.value, line.low, line.high,
                              page_number(line.value, decimals_of(line)) + " " + page_interval(line)});
      }
      const bool parts = first > 0 || last < lines.size();
      section.blocks.push_back(
          PageFigure{parts ? fmt::format("{}-{}", name, first + 1) : name, draw(chart),
                     fmt::format("Estimates with {}. An arrow: the interval goes on.", interval_name())});
      first = last;
    }
  }

  ReportTable estimate_table(const std::vector<EstimateLine>& lines, const std::string& name, const char* value) const {
    ReportTable table{.name = name,
                      .caption = fmt::format("Every estimator, with {}.", interval_name()),
                      .columns = {{"policy"}, {"estimator"}, {value, true}, {"std. error", true}, {"interval", true}},
                      .rows = {}};
    table.values = {{"policy", "estimator", value, "stderr", "low", "high"}};
    const auto full = [](const std::optional<double>& x) { return x ? fmt::format("{}", *x) : std::string(); };
    for (const EstimateLine& line : lines) {
      const int decimals = decimals_of(line);
      table.add({line.policy, line.estimator, page_number(line.value, decimals), page_number(line.error, decimals),
                 page_interval(line)});
      table.values.push_back(
          {line.policy, line.estimator, full(line.value), full(line.error), full(line.low), full(line.high)});
    }
    return table;
  }

  ReportTable diagnostics_table() const {
    ReportTable table{.name = "weights",
                      .caption =
                          "Weights π(a|x)/propensity: they average to one where propensities are right and every "
                          "action had a chance. ESS is how many rows of the policy's own logs these are worth.",
                      .columns = {{"policy"},
                                  {"mean weight", true},
                                  {"z", true},
                                  {"ESS", true},
                                  {"ESS share", true},
                                  {"largest weight", true},
                                  {"its share", true}},
                      .rows = {}};
    const auto percent = [](const std::optional<double>& share) {
      return share ? fmt::format("{:.3g} %", 100 * *share) : std::string("—");
    };
    for (const Json& policy : list(json_, "policies")) {
      const Json& d = part(policy, "diagnostics");
      const auto mean = number(d, "mean_weight"), z = number(d, "mean_weight_z"), ess = number(d, "ess"),
                 largest = number(d, "max_weight");
      table.add({text(policy, "name"), mean ? fmt::format("{:.5g}", *mean) : "—",
                 z ? with_minus_sign(fmt::format("{:+.2f}", *z)) : "—", ess ? with_commas(std::llround(*ess)) : "—",
                 percent(ess && rows() > 0 ? std::optional(*ess / rows()) : std::nullopt),
                 largest ? human_number(*largest) : "—", percent(number(d, "max_weight_share"))});
    }
    return table;
  }

  void add_histograms(PageSection& section) const {
    std::size_t number_of_policy = 0;
    bool any = false;
    for (const Json& policy : list(json_, "policies")) {
      ++number_of_policy;
      const Json& bins = list(policy, "weights");
      if (bins.empty()) continue;
      any = true;
      const auto ess = number(part(policy, "diagnostics"), "ess");
      HistogramChart chart{.title = fmt::format("Weights of {}", text(policy, "name")),
                           .x = {.label = "weight (logarithmic)", .kind = ScaleKind::logarithmic},
                           .bins = {},
                           .marks = {{"1: as likely as it was logged", 1.0}},
                           .note = ess ? fmt::format("effective sample size {} of {} rows",
                                                     with_commas(std::llround(*ess)), with_commas(std::llround(rows())))
                                       : std::string()};
      double zero = 0;
      for (const Json& bin : bins) {
        const auto low = number(bin, "low"), high = number(bin, "high"), count = number(bin, "rows");
        if (!low || !high || !count) continue;
        if (*high > 0)
          chart.bins.push_back({*low, *high, *count});
        else
          zero += *count;
      }
      section.blocks.push_back(
          PageFigure{fmt::format("weights-{}", number_of_policy), draw(chart),
                     zero > 0 ? fmt::format("Not shown: {} of weight zero.", counted(std::llround(zero), "row")) : ""});
    }
    if (!any)
      section.blocks.push_back(
          PageText{"For a histogram of the weights, run `scrm evaluate` with --weight-histogram and --json."});
  }

  const Json& json_;
  const std::string& name_;
  std::string outcome_;
  std::vector<EstimateLine> values_, differences_;
};

}  // namespace

Page evaluation_page(const Json& evaluation, const std::string& name) {
  return EvaluationPage(evaluation, name).page();
}

}  // namespace scrm
