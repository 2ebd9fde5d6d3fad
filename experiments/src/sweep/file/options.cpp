#include "sweep/file/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "scrm/kernels/block.hpp"
#include "sweep/file/option_text.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm {
namespace {

using namespace sweep_option;

// 2^40 rows and more cannot be meant, and would overflow what counts them.
constexpr int kMaxSweepRollouts = 40;
constexpr std::int64_t kMaxFirstBatch = 1'000'000'000;
// Beyond these, no kernel matrix is worth its digits, or fits any machine.
constexpr int kMaxDegree = 8;
constexpr std::int64_t kMaxPoints = 100'000;

constexpr EnumNames<Protocol, 2> kProtocols = {{{"paper", Protocol::paper}, {"published", Protocol::published}}};
constexpr EnumNames<Growth, 2> kGrowths = {{{"doubling", Growth::doubling}, {"linear", Growth::linear}}};
constexpr EnumNames<PastRollouts, 3> kPasts = {
    {{"last", PastRollouts::last}, {"all-naive", PastRollouts::naive}, {"all-balance", PastRollouts::balance}}};
constexpr EnumNames<LambdaKind, 3> kLambdaRules = {
    {{"auto", LambdaKind::automatic}, {"theory", LambdaKind::theory}, {"log-rows", LambdaKind::log_rows}}};
constexpr EnumNames<LambdaJudge, 2> kJudges = {{{"objective", LambdaJudge::objective}, {"model", LambdaJudge::model}}};
constexpr EnumNames<BetaRule, 2> kBetaRules = {{{"rows", BetaRule::rows}, {"batches", BetaRule::batches}}};
constexpr EnumNames<ActionEncoding, 2> kEncodings = {
    {{"integer", ActionEncoding::integer}, {"bits", ActionEncoding::bits}}};
// The fourth kernel, that of bits, is chosen by the encoding.
constexpr EnumNames<KernelKind, 3> kKernels = {
    {{"linear", KernelKind::linear}, {"polynomial", KernelKind::polynomial}, {"gaussian", KernelKind::gaussian}}};

constexpr EnumNames<bool, 1> kScaleRules = {{{"learned", true}}};
constexpr EnumNames<bool, 1> kRidgeRules = {{{"auto", true}}};

std::vector<LambdaChoice> read_lambdas(const TomlValue& value) {
  std::vector<LambdaChoice> out;
  for (const TomlValue& item : value.items()) {
    const LambdaChoice lambda =
        item.is_text() ? LambdaChoice{item.choice(kLambdaRules), 0} : LambdaChoice{LambdaKind::given, item.number(0)};
    for (const LambdaChoice& before : out) {
      if (before.kind == lambda.kind && before.value == lambda.value) item.fail("one comes twice");
    }
    out.push_back(lambda);
  }
  return out;
}

std::vector<std::optional<double>> read_ridges(const TomlValue& value) {
  std::vector<std::optional<double>> out;
  for (const TomlValue& item : value.items()) {
    if (item.is_text()) static_cast<void>(item.choice(kRidgeRules));
    const std::optional<double> l2 = item.is_text() ? std::nullopt : std::optional(item.number(0));
    if (std::find(out.begin(), out.end(), l2) != out.end()) item.fail("one comes twice");
    out.push_back(l2);
  }
  return out;
}

void read_estimator(const TomlValue& value, RunOptions& options) {
  const std::vector<std::string> names = learning_estimator_names();
  options.estimator = &find_learning_estimator(names[value.choice(names)]);
}

void read_bound(const TomlValue& value, RunOptions& options) {
  const std::vector<double> box = value.numbers(-kMaxNumber);
  if (box.size() != 2 || !(box[0] < box[1])) value.fail("wants two numbers, the lower first");
  options.bound = {box[0], box[1]};
}

void read_scale(const TomlValue& value, RunOptions& options) {
  options.learn_scale = value.is_text() && value.choice(kScaleRules);
  options.scale.reset();
  if (!options.learn_scale) options.scale = value.number(kAboveZero);
}

void read_replays(const TomlValue& value, RunOptions& options) {
  options.replays = static_cast<int>(value.integer(1, kBlockRows));
  // A context and its replays must fit into a block without a rest.
  if (kBlockRows % options.replays != 0) value.fail(fmt::format("wants a divisor of {}", kBlockRows));
}

// How each is read, and how it is printed.
constexpr std::array kOptions = {
    SweepOption{.key = "environments",
                .help = "what is played: names of environments, or paths of labelled data sets",
                .values = "a list"},
    SweepOption{
        .key = "methods", .help = "who plays: names of methods, or of [method.NAME] tables", .values = "a list"},
    SweepOption{.key = "seeds", .help = "every run is done once for each seed", .values = "how many, or a list"},
    SweepOption{
        .key = "data_dir",
        .help = "where scene, yeast, tmc2007 and NAME.h5 of an environment NAME are; else the variable SCRM_DATA_DIR, "
                "else ./data",
        .values = "a folder"},
    SweepOption{.key = "protocol",
                .help = "\"published\" does what the paper's released code does differently",
                .values = "\"paper\" or \"published\"",
                .read = [](In in, Out out) { out.protocol = in.choice(kProtocols); },
                .print = [](Options o) { return text(name_of(kProtocols, o.protocol)); }},
    SweepOption{.key = "rollouts",
                .help = "policies learned one after another",
                .values = "1 to 40",
                .read = [](In in, Out out) { out.rollouts = static_cast<int>(in.integer(1, kMaxSweepRollouts)); },
                .print = [](Options o) { return text(o.rollouts); }},
    SweepOption{.key = "first_batch",
                .help = "rows of the first batch",
                .values = "1 to 1e9",
                .read = [](In in, Out out) { out.batches.first = in.integer(1, kMaxFirstBatch); },
                .print = [](Options o) { return text(o.batches.first); }},
    SweepOption{.key = "growth",
                .help = "how batches grow",
                .values = "\"doubling\" or \"linear\"",
                .read = [](In in, Out out) { out.batches.growth = in.choice(kGrowths); },
                .print = [](Options o) { return text(name_of(kGrowths, o.batches.growth)); }},
    SweepOption{
        .key = "lambdas",
        .help = "weights of the penalty, a run each; \"auto\" goes by held-out rows, \"log-rows\" is sqrt(18 ln n)",
        .values = "numbers, \"auto\", \"theory\", \"log-rows\"",
        .read = [](In in, Out out) { out.lambdas = read_lambdas(in); }},
    SweepOption{.key = "l2",
                .help = "ridge on everything but intercepts, a run each; \"auto\" goes by held-out rows, after lambda",
                .values = "numbers, \"auto\"",
                .read = [](In in, Out out) { out.l2 = read_ridges(in); }},
    SweepOption{.key = "estimator",
                .help = "what is minimized, as in scrm learn",
                .values = "\"ips\", \"clipped\", \"snips\", \"ips-ix\", \"additive\", \"ls\", \"dm\", \"dr\", \"dros\" "
                          "or \"additive-dr\"",
                .read = read_estimator,
                .print = [](Options o) { return text(o.estimator->name); }},
    SweepOption{.key = "penalty",
                .help = "lambda sqrt(V/n) or lambda sqrt(V)",
                .values = "\"se\" or \"sd\"",
                .read = [](In in, Out out) { out.penalty = in.choice(kPenaltyNames); },
                .print = [](Options o) { return text(name_of(kPenaltyNames, o.penalty)); }},
    SweepOption{.key = "lambda_candidates",
                .help = "what lambdas = \"auto\" chooses among",
                .values = "numbers",
                .read = [](In in, Out out) { out.lambda_candidates = in.numbers(0); },
                .print = [](Options o) { return text(o.lambda_candidates); }},
    SweepOption{.key = "l2_candidates",
                .help = "what l2 = \"auto\" chooses among; else 0 and 1e-6 to 1e-2 standard deviations of the losses",
                .values = "numbers",
                .read = [](In in, Out out) { out.l2_candidates = in.numbers(0); },
                .print = [](Options o) { return o.l2_candidates.empty() ? std::string() : text(o.l2_candidates); }},
    SweepOption{.key = "judge",
                .help = "who scores candidates on held-out rows: the estimator itself, or dr with a ridge model",
                .values = "\"objective\" or \"model\"",
                .read = [](In in, Out out) { out.judge = in.choice(kJudges); },
                .print = [](Options o) { return std::string(o.judge == LambdaJudge::model ? "model" : ""); }},
    SweepOption{.key = "alpha",
                .help = "alpha of ips-ix, additive and additive-dr, else one over the rows; of ls its smoothing",
                .values = "above 0",
                .read = [](In in, Out out) { out.alpha = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.alpha); }},
    SweepOption{
        .key = "largest_weight",
        .help = "larger weights are cut to it",
        .values = "above 0, or inf",
        .read = [](In in, Out out) { out.weight_cap = in.number(kAboveZero, std::numeric_limits<double>::infinity()); },
        .print = [](Options o) { return text(o.weight_cap); }},
    SweepOption{
        .key = "bound",
        .help = "keeps every parameter inside",
        .values = "[low, high]",
        .read = read_bound,
        .print = [](Options o) { return o.bound ? fmt::format("[{}, {}]", o.bound->first, o.bound->second) : "none"; }},
    SweepOption{.key = "past",
                .help = "what a method that deploys its policies learns from: the last batch, or all of them",
                .values = "\"last\", \"all-naive\" or \"all-balance\"",
                .read = [](In in, Out out) { out.past = in.choice(kPasts); },
                .print = [](Options o) { return text(name_of(kPasts, o.past)); }},
    SweepOption{.key = "warm_start",
                .help = "whether a search begins at the last policy",
                .values = "true or false",
                .read = [](In in, Out out) { out.warm_start = in.boolean(); },
                .print = [](Options o) { return text(o.warm_start); }},
    SweepOption{.key = "max_iterations",
                .help = "iterations of a search",
                .values = "1 to 1e6",
                .read = [](In in, Out out) { out.max_iterations = static_cast<int>(in.integer(1, 1'000'000)); },
                .print = [](Options o) { return text(o.max_iterations); }},
    SweepOption{.key = "tolerance",
                .help = "norm of the gradient at which a search ends",
                .values = "0 or more",
                .read = [](In in, Out out) { out.tolerance = in.number(0); },
                .print = [](Options o) { return text(o.tolerance); }},
    SweepOption{.key = "relative_decrease",
                .help = "a search also ends when an iteration gains less",
                .values = "0 to 1",
                .read = [](In in, Out out) { out.relative_decrease = in.number(0, 1); },
                .print = [](Options o) { return text(o.relative_decrease); }},
    SweepOption{.key = "epsilon",
                .help = "share of uniform actions where there are finitely many",
                .values = "0 to 1",
                .read = [](In in, Out out) { out.epsilon = in.number(0, 1); },
                .print = [](Options o) { return text(o.epsilon); }},
    SweepOption{.key = "mixing",
                .help = "whether epsilon is mixed into each label or into all of them together",
                .values = "\"label\" or \"joint\"",
                .read = [](In in, Out out) { out.mixing = in.choice(kMixingNames); },
                .print = [](Options o) { return text(name_of(kMixingNames, o.mixing)); }},
    SweepOption{.key = "replays",
                .help = "labelled data: times each row is met within its batch",
                .values = "a power of two up to 2048",
                .read = read_replays,
                .print = [](Options o) { return text(o.replays); }},
    SweepOption{.key = "bonus",
                .help = "labelled data: added to every coefficient of the first policy, so that it is not too good",
                .values = "a number",
                .read = [](In in, Out out) { out.bonus = in.number(-kMaxNumber); },
                .print = [](Options o) { return text(o.bonus); }},
    SweepOption{.key = "projection",
                .help = "labelled data: features of a random projection, 0 for none",
                .values = "0 to 1e6",
                .read = [](In in, Out out) { out.projection = in.integer(0, 1'000'000); },
                .print = [](Options o) { return text(o.projection); }},
    SweepOption{.key = "unit_length",
                .help = "labelled data: whether rows are scaled to length one",
                .values = "true or false",
                .read = [](In in, Out out) { out.unit_length = in.boolean(); },
                .print = [](Options o) { return text(o.unit_length); }},
    SweepOption{
        .key = "kernel",
        .help = "bandits: the kernel of their ridge regression",
        .values = "\"linear\", \"polynomial\" or \"gaussian\"",
        .read = [](In in, Out out) { out.bandit.kernel = in.choice(kKernels); },
        .print = [](Options o) { return o.bandit.kernel ? text(name_of(kKernels, *o.bandit.kernel)) : "auto"; }},
    SweepOption{.key = "degree",
                .help = "bandits: of the polynomial kernel",
                .values = "1 to 8",
                .read = [](In in, Out out) { out.bandit.degree = static_cast<int>(in.integer(1, kMaxDegree)); },
                .print = [](Options o) { return text(o.bandit.degree); }},
    SweepOption{.key = "length",
                .help = "bandits: of the gaussian kernel",
                .values = "above 0",
                .read = [](In in, Out out) { out.bandit.length = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.bandit.length); }},
    SweepOption{.key = "beta",
                .help = "bandits: optimism falls with one over the root of the rows or of the batches so far",
                .values = "\"rows\" or \"batches\"",
                .read = [](In in, Out out) { out.bandit.beta = in.choice(kBetaRules); },
                .print = [](Options o) { return text(name_of(kBetaRules, o.bandit.beta)); }},
    SweepOption{.key = "encoding",
                .help = "bandits: labels as one number, or as a number each",
                .values = "\"integer\" or \"bits\"",
                .read = [](In in, Out out) { out.bandit.encoding = in.choice(kEncodings); },
                .print = [](Options o) { return text(name_of(kEncodings, o.bandit.encoding)); }},
    SweepOption{.key = "points",
                .help = "bandits: inducing points; else exact where rows and features allow",
                .values = "1 to 100000",
                .read = [](In in, Out out) { out.bandit.points = in.integer(1, kMaxPoints); },
                .print = [](Options o) { return text(o.bandit.points); }},
    SweepOption{.key = "compare_points",
                .help = "bandits: learn once more with twice the points and note the share of changed_actions",
                .values = "true or false",
                .read = [](In in, Out out) { out.bandit.compare_points = in.boolean(); },
                .print = [](Options o) { return text(o.bandit.compare_points); }},
    SweepOption{.key = "bandit_lambdas",
                .help = "bandits: their own lambda, a run each, in place of lambdas",
                .values = "numbers",
                .read = [](In in, Out out) { out.bandit.lambdas = in.numbers(0); },
                .print = [](Options o) { return text(o.bandit.lambdas); }},
    SweepOption{.key = "standardize",
                .help = "labelled data: whether features are scaled to unit spread; else where rows have a class",
                .values = "true or false",
                .read = [](In in, Out out) { out.standardize = in.boolean(); },
                .print = [](Options o) { return text(o.standardize); }},
    // Left out of the identity of runs that do not set them.
    SweepOption{
        .key = "centre_losses",
        .help = "whether losses are taken less their mean, so that policies gain nothing by the sum of their weights",
        .values = "true or false",
        .read = [](In in, Out out) { out.centre_losses = in.boolean(); },
        .print = [](Options o) { return o.centre_losses ? text(true) : std::string(); }},
    SweepOption{
        .key = "logging_epsilon",
        .help = "scrm: share of uniform actions while a learned policy logs a batch; its loss is that of epsilon",
        .values = "0 to 1",
        .read = [](In in, Out out) { out.logging_epsilon = in.number(0, 1); },
        .print = [](Options o) { return o.logging_epsilon ? text(*o.logging_epsilon) : std::string(); }},
    SweepOption{
        .key = "scale",
        .help = "continuous actions: standard deviation of the policies that are learned, or that it is learned too",
        .values = "above 0, or \"learned\"",
        .read = read_scale,
        .print = [](Options o) { return o.learn_scale ? "learned"
                                        : o.scale     ? text(*o.scale)
                                                      : std::string(); }},
    SweepOption{.key = "min_scale",
                .help = "the least scale that is learned; else a fifth of the one that learning starts from",
                .values = "above 0",
                .read = [](In in, Out out) { out.min_scale = in.number(kAboveZero); },
                .print = [](Options o) { return o.min_scale ? text(*o.min_scale) : std::string(); }},
    SweepOption{.key = "start",
                .help = "continuous actions: intercept of the policy that learning starts from",
                .values = "a number",
                .read = [](In in, Out out) { out.start = in.number(-kMaxNumber); },
                .print = [](Options o) { return o.start ? text(*o.start) : std::string(); }},
};

}  // namespace

std::span<const SweepOption> sweep_options() {
  static const std::vector<SweepOption> all = [] {
    std::vector<SweepOption> options(kOptions.begin(), kOptions.end());
    for (const std::span<const SweepOption> more : {reinforcement_options(), feature_options()})
      options.insert(options.end(), more.begin(), more.end());
    return options;
  }();
  return all;
}

std::vector<std::string> sweep_keys(bool top) {
  std::vector<std::string> keys;
  for (const SweepOption& option : sweep_options()) {
    if (top || option.read != nullptr) keys.emplace_back(option.key);
  }
  return keys;
}

void read_option(const std::string& key, const TomlValue& value, RunOptions& options) {
  for (const SweepOption& option : sweep_options()) {
    if (option.key == key && option.read != nullptr) option.read(value, options);
  }
}

std::string describe(const RunOptions& options) {
  std::string out;
  for (const SweepOption& option : sweep_options()) {
    const std::string value = option.print != nullptr ? option.print(options) : "";
    if (!value.empty()) out += fmt::format("{} = {}\n", option.key, value);
  }
  return out;
}

double least_scale(const RunOptions& options, double start_scale) noexcept {
  constexpr double kShare = 0.2;
  return options.min_scale.value_or(kShare * start_scale);
}

const char* to_string(LambdaKind kind) noexcept {
  return kind == LambdaKind::given ? "given" : name_of(kLambdaRules, kind);
}

}  // namespace scrm
