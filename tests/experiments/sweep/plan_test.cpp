// labels: fast
#include "sweep/plan.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "scrm/io/labelled/labelled_file.hpp"
#include "support/files.hpp"
#include "support/rows/labelled_problems.hpp"
#include "support/runs.hpp"
#include "sweep/file/options.hpp"

using namespace scrm;
using scrm::testing::complaint;
using scrm::testing::Folder;
using scrm::testing::holds;

namespace {

constexpr const char* kBase =
    "environments = [\"pricing\"]\nmethods = [\"crm\", \"scrm\"]\nseeds = 2\nlambdas = [0.1, 1]\n";

SweepPlan plan_of(const Folder& folder, const std::string& text) {
  const std::string path = folder / "sweep.toml";
  std::ofstream(path) << text;
  return SweepPlan(SweepFile(path));
}

/// Identities by what tells the runs of one sweep apart.
std::map<std::string, std::string> identities(const SweepPlan& plan) {
  std::map<std::string, std::string> out;
  for (const PlannedRun& run : plan.runs()) out[run_key(run.record)] = run.record.identity;
  return out;
}

/// A value of every option that no environment has by itself.
const std::map<std::string, std::string> kOtherValues = {{"protocol", "\"published\""},
                                                         {"rollouts", "9"},
                                                         {"first_batch", "101"},
                                                         {"growth", "\"linear\""},
                                                         {"lambdas", "[0.2, 2]"},
                                                         {"l2", "0.5"},
                                                         {"features", "\"fourier\""},
                                                         {"width", "32"},
                                                         {"bandwidth", "2"},
                                                         {"feature_seed", "1"},
                                                         {"lambda_candidates", "[1e-5]"},
                                                         {"l2_candidates", "[0.25, 4]"},
                                                         {"estimator", "\"snips\""},
                                                         {"penalty", "\"se\""},
                                                         {"alpha", "0.5"},
                                                         {"largest_weight", "100"},
                                                         {"bound", "[-4, 4]"},
                                                         {"past", "\"all-naive\""},
                                                         {"warm_start", "false"},
                                                         {"standardize", "true"},
                                                         {"epsilon", "0.2"},
                                                         {"logging_epsilon", "0.4"},
                                                         {"mixing", "\"joint\""},
                                                         {"replays", "2"},
                                                         {"projection", "5"},
                                                         {"bonus", "1.5"},
                                                         {"max_iterations", "400"},
                                                         {"tolerance", "1e-4"},
                                                         {"relative_decrease", "1e-8"},
                                                         {"unit_length", "true"},
                                                         {"kernel", "\"gaussian\""},
                                                         {"degree", "3"},
                                                         {"length", "0.25"},
                                                         {"beta", "\"batches\""},
                                                         {"encoding", "\"bits\""},
                                                         {"points", "7"},
                                                         {"compare_points", "true"},
                                                         {"bandit_lambdas", "[3]"},
                                                         {"scale", "0.7"},
                                                         {"start", "0.5"},
                                                         {"entropy_weights", "[3]"},
                                                         {"pretraining_steps", "7"},
                                                         {"pretraining_rate", "0.5"},
                                                         {"minibatch", "7"},
                                                         {"advantages", "\"plain\""},
                                                         {"ppo_epochs", "7"},
                                                         {"ppo_rate", "0.5"},
                                                         {"ppo_clip", "0.5"},
                                                         {"value_weight", "0.25"},
                                                         {"gradient_norm", "7"},
                                                         {"trpo_kl", "0.5"},
                                                         {"trpo_steps", "7"},
                                                         {"trpo_damping", "0.5"},
                                                         {"trpo_shrink", "0.5"},
                                                         {"trpo_backtracks", "7"},
                                                         {"critic_epochs", "7"},
                                                         {"critic_rate", "0.5"},
                                                         {"judge", "\"model\""},
                                                         {"centre_losses", "true"},
                                                         {"min_scale", "0.2"}};

/// The text without the line of that key.
std::string without(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + " ", 0) != 0) out += line + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("sweep_plan: runs come by environment, method, hyper-parameter and seed, each with an identity of its own") {
  const Folder folder;
  const SweepPlan plan = plan_of(folder,
                                 "environments = [\"pricing\", \"advertising\"]\nmethods = [\"baseline\", \"scrm\"]\n"
                                 "seeds = [3, 1]\nlambdas = [0.1, \"auto\"]\nl2 = [0, 0.5]\n");
  // The baseline has no λ: 2 seeds; scrm has 2 λ × 2 l2 × 2 seeds.
  REQUIRE(plan.runs().size() == 2 * (2 + 8));
  REQUIRE(plan.experiments().size() == 4);
  std::set<std::string> seen, keys;
  for (const PlannedRun& run : plan.runs()) {
    seen.insert(run.record.identity);
    keys.insert(run_key(run.record));
    CHECK(run.record.identity.size() == 32);
    CHECK(run.record.environment == plan.experiments()[run.experiment].environment);
    CHECK(run.record.method == plan.experiments()[run.experiment].method.name);
  }
  CHECK(seen.size() == plan.runs().size());
  CHECK(keys.size() == plan.runs().size());
  const RunRecord& first = plan.runs()[0].record;
  CHECK(first.method == "baseline");
  CHECK(first.lambda_rule.empty());
  CHECK(std::isnan(first.hyperparameter));
  CHECK(first.seed == 3);
  const RunRecord& second = plan.runs()[2].record;
  CHECK(second.method == "scrm");
  CHECK(second.lambda_rule == "given");
  CHECK(second.hyperparameter == 0.1);
  CHECK(second.numbers.at("l2") == 0);
  CHECK(plan.runs()[4].record.numbers.at("l2") == 0.5);
  CHECK(plan.runs()[6].record.lambda_rule == "auto");
  CHECK(std::isnan(plan.runs()[6].record.hyperparameter));
  CHECK(plan.runs()[10].record.environment == "advertising");
}

TEST_CASE("sweep_plan: every option that changes numbers changes every run's identity") {
  const Folder folder;
  // Random features are for labelled data, and how they are drawn changes nothing where there are none.
  write_labelled(folder / "bits.h5", scrm_test::made_up_data(30, 3, 2));
  const std::string labelled = without(kBase, "environments") + "environments = [\"" + (folder / "bits.h5") + "\"]\n";
  const auto base_of = [&](const std::string& key) {
    if (key == "features") return labelled;
    if (key == "width" || key == "bandwidth" || key == "feature_seed") return labelled + "features = \"fourier\"\n";
    return std::string(kBase);
  };
  for (const SweepOption& option : sweep_options()) {
    if (option.read == nullptr) continue;  // says what to run, not how
    const std::string key = option.key;
    CAPTURE(key);
    REQUIRE(kOtherValues.contains(key));
    const std::string base = base_of(key);
    const auto before = identities(plan_of(folder, base));
    const auto after = identities(plan_of(folder, without(base, key) + key + " = " + kOtherValues.at(key) + "\n"));
    REQUIRE(before.size() == 8);
    REQUIRE(after.size() == before.size());
    for (const auto& [run, identity] : after) {
      for (const auto& [run_before, identity_before] : before) CHECK(identity != identity_before);
    }
  }
  // The least change of a number is a change.
  const auto a = identities(plan_of(folder, std::string(kBase) + "epsilon = 0.1\n"));
  const auto b = identities(plan_of(folder, std::string(kBase) + "epsilon = 0.10000000000000002\n"));
  for (const auto& [key, identity] : a) CHECK(b.at(key) != identity);
}

TEST_CASE("describe: the text that identities of finished runs are made of stays as it is") {
  const char* text =
      "protocol = paper\nrollouts = 10\nfirst_batch = 100\ngrowth = doubling\nestimator = ips-ix\npenalty = se\n"
      "lambda_candidates = [1e-05, 0.0001, 0.001, 0.01, 0.1]\nalpha = auto\nlargest_weight = 1e+100\nbound = none\n"
      "past = last\nwarm_start = true\nmax_iterations = 500\ntolerance = 1e-05\nrelative_decrease = 1e-09\n"
      "epsilon = 0.1\nmixing = label\nreplays = 4\nbonus = auto\nprojection = 0\nunit_length = auto\nkernel = auto\n"
      "degree = 2\nlength = 0.1\nbeta = rows\nencoding = integer\npoints = auto\ncompare_points = false\n"
      "bandit_lambdas = auto\nstandardize = auto\nentropy_weights = auto\npretraining_steps = 200\n"
      "pretraining_rate = 0.01\nminibatch = 64\nadvantages = normalized\nppo_epochs = 10\nppo_rate = 0.0003\n"
      "ppo_clip = 0.2\nvalue_weight = 0.5\ngradient_norm = 0.5\ntrpo_kl = 0.01\ntrpo_steps = 15\n"
      "trpo_damping = 0.1\ntrpo_shrink = 0.8\ntrpo_backtracks = 10\ncritic_epochs = 10\ncritic_rate = 0.001\n";
  CHECK(describe(RunOptions{}) == text);
  RunOptions options;
  options.bound = {-1, 2.5};
  options.bandit.kernel = KernelKind::polynomial;
  options.bandit.points = 12;
  options.bandit.lambdas = {{1, 0.5}};
  options.unit_length = false;
  for (const char* line : {"bound = [-1, 2.5]\n", "kernel = polynomial\n", "points = 12\n", "unit_length = false\n",
                           "bandit_lambdas = [1, 0.5]\n"}) {
    CHECK(holds(describe(options), line));
  }
}

TEST_CASE("sweep_plan: more runs, other words and the order of lines leave identities alone") {
  const Folder folder;
  const auto before = identities(plan_of(folder, kBase));
  for (const char* text :
       {"# why\nseeds = [0, 1]\nlambdas = [0.1, 1.0]\nmethods = [\"crm\", \"scrm\"]\nenvironments = [\"pricing\"]\n",
        "environments = [\"gaussian\", \"pricing\"]\nmethods = [\"baseline\", \"scrm\", \"crm\"]\nseeds = 5\n"
        "lambdas = [1, 10, \"theory\", 0.1]\nl2 = [0, 1]\n",
        "environments = [\"pricing\"]\nmethods = [\"crm\", \"scrm\"]\nseeds = 2\n[environment.pricing]\n"
        "lambdas = [0.1, 1]\npenalty = \"sd\"\n"}) {
    CAPTURE(text);
    const auto after = identities(plan_of(folder, text));
    for (const auto& [key, identity] : before) {
      REQUIRE(after.contains(key));
      CHECK(after.at(key) == identity);
    }
  }
}

TEST_CASE("sweep_plan: an option of one experiment changes that experiment alone") {
  const Folder folder;
  const auto before = identities(plan_of(folder, kBase));
  const auto after = identities(plan_of(folder, std::string(kBase) + "[method.scrm]\nrollouts = 3\n"));
  for (const auto& [key, identity] : before) {
    CHECK((after.at(key) == identity) == holds(key, "/ crm /"));
  }
}

TEST_CASE("sweep_plan: other data under the same name makes other runs") {
  const Folder folder;
  const std::string file = folder / "own.h5";
  const std::string text =
      "environments = [\"" + file + "\"]\nmethods = [\"scrm\", \"majority\"]\nlambdas = [1]\nrollouts = 3\n";
  LabelledData data = scrm_test::made_up_data(60, 3, 2);
  write_labelled(file, data);
  const auto before = identities(plan_of(folder, text));
  CHECK(before == identities(plan_of(folder, text)));
  const std::string options = plan_of(folder, text).options_text();
  data.label[11] ^= 1;
  write_labelled(file, data);
  const SweepPlan changed = plan_of(folder, text);
  for (const auto& [key, identity] : identities(changed)) CHECK(before.at(key) != identity);
  const std::vector<std::string> found = option_conflicts(options, changed.options_text());
  REQUIRE(found.size() == 2);
  CHECK(holds(found[0], "data was 60 rows, 3 features, 2 labels"));
}

TEST_CASE("sweep_plan: what makes no sense is left out in words, what is missing has its reason") {
  const Folder folder;
  const SweepPlan plan = plan_of(folder,
                                 "environments = [\"pricing\", \"scene\"]\nmethods = [\"majority\", \"scrm\"]\n"
                                 "lambdas = [1]\ndata_dir = \"" +
                                     (folder / "empty") + "\"\n");
  REQUIRE(plan.inapplicable().size() == 1);
  CHECK(plan.inapplicable()[0].environment == "pricing");
  CHECK(plan.inapplicable()[0].method == "majority");
  CHECK(plan.inapplicable()[0].reason == "its actions are neither bits nor categories");
  REQUIRE(plan.experiments().size() == 3);
  CHECK(plan.experiments()[0].factory != nullptr);
  CHECK(plan.experiments()[1].factory == nullptr);
  CHECK(holds(plan.experiments()[1].failure, "scene"));
  CHECK(plan.runs().size() == 3);
  CHECK(holds(plan.options_text(), "[pricing / scrm]\n"));
  CHECK_FALSE(holds(plan.options_text(), "[scene"));
  CHECK(holds(complaint([&] { plan_of(folder, "environments = [\"prcing\"]\nmethods = [\"scrm\"]\n"); }),
              "did you mean \"pricing\""));
}

TEST_CASE("sweep_plan: what kind of action a method needs is known before it runs") {
  const Folder folder;
  const SweepPlan plan = plan_of(folder,
                                 "environments = [\"pricing\", \"categorical\", \"multilabel\"]\n"
                                 "methods = [\"crm\", \"bkucb\", \"skyline\", \"all-zeros\", \"majority\"]\n"
                                 "[method.crm]\nestimator = \"additive\"\n");
  std::vector<std::string> left_out;
  for (const InapplicableMethod& pair : plan.inapplicable()) left_out.push_back(pair.environment + " " + pair.method);
  CHECK(left_out == std::vector<std::string>{"pricing crm", "pricing all-zeros", "pricing majority", "categorical crm",
                                             "categorical bkucb", "categorical all-zeros"});
}

TEST_CASE("sweep_plan: the balance heuristic is a default that the additive estimator does without") {
  const Folder folder;
  const auto past = [&](const std::string& more) {
    const SweepPlan plan =
        plan_of(folder, "environments = [\"multilabel\"]\nmethods = [\"scrm\"]\nlambdas = [1]\n" + more);
    return plan.experiments()[0].options.past;
  };
  CHECK(past("") == PastRollouts::balance);
  CHECK(past("estimator = \"additive\"\n") == PastRollouts::naive);
  CHECK(past("past = \"last\"\n") == PastRollouts::last);
  CHECK(past("estimator = \"additive\"\npast = \"all-balance\"\n") == PastRollouts::balance);
}

TEST_CASE("sweep_plan: labelled bits are learned with a model by default; another objective comes with the paper's λ") {
  const Folder folder;
  write_labelled(folder / "bits.h5", scrm_test::made_up_data(30, 3, 2));
  const auto options = [&](const std::string& more) {
    const SweepPlan plan =
        plan_of(folder, "environments = [\"" + (folder / "bits.h5") + "\"]\nmethods = [\"scrm\"]\n" + more);
    return plan.experiments()[0].options;
  };
  const RunOptions own = options("");
  CHECK(std::string(own.estimator->name) == "dm");
  CHECK(own.lambda_candidates == std::vector<double>{0});
  CHECK(own.logging_epsilon == 0.5);
  for (const char* more : {"protocol = \"published\"\n", "estimator = \"snips\"\n"}) {
    CAPTURE(more);
    const RunOptions asked = options(more);
    CHECK(std::string(asked.estimator->name) == "snips");
    CHECK(asked.lambda_candidates.size() == 11);
    CHECK(asked.lambdas.size() == 11);
    CHECK_FALSE(asked.logging_epsilon);
    CHECK((asked.past == PastRollouts::naive) == (asked.protocol == Protocol::published));
  }
  CHECK(options("lambda_candidates = [2]\n").lambda_candidates == std::vector<double>{2});
}

TEST_CASE("group_by_experiment: runs of one environment and method stand together, whenever they were finished") {
  const auto run = [](const char* environment, const char* method, double lambda, std::int64_t seed) {
    RunRecord record;
    record.environment = environment;
    record.method = method;
    record.hyperparameter = lambda;
    record.seed = seed;
    return record;
  };
  // Three of this sweep, then what an earlier one left, in no order.
  std::vector<RunRecord> runs = {run("b", "scrm", 1, 0), run("b", "crm", 1, 0), run("a", "crm", 1, 0),
                                 run("b", "crm", 2, 1),  run("c", "crm", 1, 0), run("a", "scrm", 1, 0),
                                 run("b", "crm", 2, 0),  run("b", "scrm", 2, 0)};
  group_by_experiment(runs, 3);
  std::string order;
  for (const RunRecord& record : runs)
    order += record.environment + " " + record.method + " " + std::to_string(int(record.hyperparameter)) + " " +
             std::to_string(record.seed) + ", ";
  CHECK(order == "b scrm 1 0, b scrm 2 0, b crm 1 0, b crm 2 0, b crm 2 1, a crm 1 0, a scrm 1 0, c crm 1 0, ");
}

TEST_CASE("option_conflicts: says which option of which experiment was what and is what") {
  const Folder folder;
  const std::string before = plan_of(folder, kBase).options_text();
  CHECK(option_conflicts(before, before).empty());
  const std::string longer = plan_of(folder, std::string(kBase) + "[method.scrm]\nrollouts = 12\n").options_text();
  CHECK(option_conflicts(before, longer) == std::vector<std::string>{"pricing / scrm: rollouts was 10 and is 12"});
  CHECK(option_conflicts(longer, before) == std::vector<std::string>{"pricing / scrm: rollouts was 12 and is 10"});
  const std::string two =
      plan_of(folder, std::string(kBase) + "[method.scrm]\nalpha = 0.5\nbound = [-1, 2]\n").options_text();
  CHECK(option_conflicts(before, two) == std::vector<std::string>{"pricing / scrm: alpha was auto and is 0.5",
                                                                  "pricing / scrm: bound was none and is [-1, 2]"});
  // Parts that only one of them has, and hyper-parameters, are no conflict.
  const std::string other =
      plan_of(folder, "environments = [\"gaussian\", \"pricing\"]\nmethods = [\"scrm\"]\n").options_text();
  CHECK(option_conflicts(before, other).empty());
  CHECK(option_conflicts(other, before).empty());
  CHECK(option_conflicts("", before).empty());
}

TEST_CASE("option_conflicts: an option that one text does not know shifts no other") {
  const std::string before = "[a / b]\nfirst = 1\nsecond = 2\nthird = 3\n";
  CHECK(option_conflicts(before, "[a / b]\nfirst = 1\nthird = 3\n") ==
        std::vector<std::string>{"a / b: second was 2 and is not known"});
  CHECK(option_conflicts("[a / b]\nsecond = 2\nthird = 3\n", before) ==
        std::vector<std::string>{"a / b: first was not known and is 1"});
  CHECK(option_conflicts(before, "[a / b]\nthird = 3\nfirst = 1\nsecond = 2\n").empty());
  CHECK(option_conflicts(before, "[a / b]\nfirst = \nsecond = 2\nthird = 3\n") ==
        std::vector<std::string>{"a / b: first was 1 and is empty"});
}
