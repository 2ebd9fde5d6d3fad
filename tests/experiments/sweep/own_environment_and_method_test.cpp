// labels: fast
// An environment and a method of somebody else's, added as the README says, through public headers alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>

#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/method.hpp"
#include "scrm/experiments/sweep.hpp"
#include "scrm/experiments/sweep_file.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "support/files.hpp"

using namespace scrm;
using scrm::testing::Folder;

namespace {

/// A thermostat: the context is the weather, the action a setting, the loss −1 where that is 2 x and 0 far
/// from it.
class Thermostat final : public Environment {
 public:
  std::int64_t features() const noexcept override { return 1; }
  int state_columns() const noexcept override { return 0; }

  Policy first_policy() const override {
    Policy policy;
    policy.kind = PolicyKind::gaussian;
    policy.scale = 0.5;
    policy.theta = {0.0, 0.0};
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      rows.context[i] = row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + i).normal();
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      out[i] = -1 / (1 + std::pow(actions.action[i] - 2 * rows.context[i], 2));
    }
  }
};

/// Plays around the action of the least loss in what it learned from.
class BestSeen final : public Learner {
 public:
  explicit BestSeen(const LearnerSetup& setup) : pass_(setup.pass), policy_(setup.problem.start()) {}

  void learn(Source& rows, int) override {
    struct Best {
      double loss = 1e300, action = 0;
    };
    const auto compute = [](const Block& block, Best& best) {
      best = {};
      for (int i = 0; i < block.rows; ++i) {
        if (block.loss[i] < best.loss) best = {block.loss[i], block.action[i]};
      }
    };
    const auto merge = [](Best& a, const Best& b) {
      if (b.loss < a.loss) a = b;
    };
    policy_.theta[0] = run_pass(rows, Best{}, compute, merge, pass_).first.action;
    rows_read_ += static_cast<double>(rows.rows());
  }
  const Policy& policy(std::size_t) const override { return policy_; }
  LoggingPolicy next_logging_policy() const override { return {policy_, true}; }
  double rows_read() const override { return rows_read_; }

 private:
  PassOptions pass_;
  Policy policy_;
  double rows_read_ = 0;
};

void register_both() {
  static const bool once = [] {
    register_environment(
        {.name = "thermostat", .description = "a setting for the weather", .make = make_environment<Thermostat>});
    register_method({.name = "best-seen",
                     .description = "plays the action of the least loss seen so far",
                     .make = make_learner<BestSeen>,
                     .learns = true,
                     .deploys = true});
    return true;
  }();
  CHECK(once);
}

}  // namespace

TEST_CASE("register_environment, register_method: a sweep plays them by their names, beside the built-in ones") {
  register_both();
  const Folder folder;
  const std::string path = folder / "sweep.toml";
  std::ofstream(path)
      << "environments = [\"thermostat\", \"pricing\"]\nmethods = [\"best-seen\", \"scrm\", \"baseline\"]\n"
         "seeds = 2\nrollouts = 3\nlambdas = [0.1]\nepsilon = 0.2\n[environment.thermostat]\n"
         "first_batch = 500\n";
  SweepOptions options;
  options.out = folder / "results.h5";
  options.threads = 2;
  const SweepReport report = run_sweep(SweepFile(path), options);
  REQUIRE(report.runs.size() == 2 * 3 * 2);
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.environment);
    CAPTURE(run.method);
    CAPTURE(run.message);
    CHECK(run.ok);
    CHECK(run.loss.size() == 3);
    CHECK(std::isfinite(run.final_loss));
    if (run.method == "baseline") continue;
    CHECK(run.rows.front() == (run.environment == "thermostat" ? 500 : 100));
  }
  const auto final_loss = [&report](const std::string& method) {
    const auto of_method = [&method](const RunRecord& run) {
      return run.environment == "thermostat" && run.method == method;
    };
    return std::find_if(report.runs.begin(), report.runs.end(), of_method)->final_loss;
  };
  CHECK(final_loss("scrm") < final_loss("baseline") - 0.1);
  CHECK(final_loss("best-seen") != final_loss("baseline"));
  CHECK(read_archive(options.out).runs.size() == report.runs.size());
}

TEST_CASE("register_environment, register_method: they are in the lists, and a name is given once") {
  register_both();
  CHECK(environments().back().name == "thermostat");
  CHECK(make_environment("thermostat", {})->features() == 1);
  CHECK(find_method("best-seen").deploys);
  CHECK_THROWS_WITH_AS(
      register_environment({.name = "thermostat", .description = "", .make = make_environment<Thermostat>}),
      "there is an environment \"thermostat\" already; give this one another name", Error);
  CHECK_THROWS_WITH_AS(register_method({.name = "scrm", .description = "", .make = make_learner<BestSeen>}),
                       "there is a method \"scrm\" already; give this one another name", Error);
}
