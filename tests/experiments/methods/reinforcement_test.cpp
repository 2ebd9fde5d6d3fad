// labels: fast
// ppo and trpo as methods of a sweep: units of rows do not matter, equal losses teach nothing, and what they cannot
// play is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/method.hpp"
#include "scrm/io/file/error.hpp"
#include "sweep/run/run_rollouts.hpp"

using namespace scrm;

namespace {

/// What a row is measured in.
struct RowUnits {
  double feature = 1, action = 1, loss = 1;
};

/// The right action is the feature, the loss their distance squared; all of it in some unit.
class Follow : public Environment {
 public:
  explicit Follow(RowUnits units) : units_(units) {}

  std::int64_t features() const noexcept override { return 1; }
  int state_columns() const noexcept override { return 0; }
  Policy first_policy() const override {
    Policy policy;
    policy.scale = units_.action;
    policy.theta = {0.5 * units_.action, 0.1 * units_.action / units_.feature};
    return policy;
  }
  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      rows.context[i] =
          units_.feature * row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + i).normal();
    }
  }
  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      out[i] = units_.loss * std::pow(actions.action[i] / units_.action - rows.context[i] / units_.feature, 2);
    }
  }

 private:
  RowUnits units_;
};

class EqualLosses final : public Follow {
 public:
  EqualLosses() : Follow({}) {}
  void losses(const EnvironmentRows& rows, const Block&, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) out[i] = 0.3;
  }
};

class Lognormal final : public Follow {
 public:
  Lognormal() : Follow({}) {}
  Policy first_policy() const override {
    Policy policy = Follow::first_policy();
    policy.kind = PolicyKind::lognormal;
    return policy;
  }
};

void register_all() {
  static const bool once = [] {
    register_environment({.name = "follow", .description = "plain units", .make = [](const EnvironmentOptions&) {
                            return std::unique_ptr<Environment>(std::make_unique<Follow>(RowUnits{}));
                          }});
    register_environment({.name = "follow-raw", .description = "raw units", .make = [](const EnvironmentOptions&) {
                            return std::unique_ptr<Environment>(std::make_unique<Follow>(RowUnits{4096, 1024, 64}));
                          }});
    register_environment({.name = "equal", .description = "equal losses", .make = [](const EnvironmentOptions&) {
                            return std::unique_ptr<Environment>(std::make_unique<EqualLosses>());
                          }});
    register_environment({.name = "lognormal", .description = "lognormal start", .make = [](const EnvironmentOptions&) {
                            return std::unique_ptr<Environment>(std::make_unique<Lognormal>());
                          }});
    return true;
  }();
  CHECK(once);
}

RunRecord rolled_out(const std::string& environment, const char* method, RunOptions options = {}) {
  register_all();
  limit_openblas_to_one_thread();
  options.rollouts = 6;
  const std::vector<HyperParameters> runs = {{{LambdaKind::given, 0.1}, 0.0}};
  const PassOptions pass;
  const auto problem = make_problem_factory(environment, "").make(3, options);
  const LearnerSetup setup{*problem, options, runs, 3, pass, {}};
  return run_rollouts(find_method(method), setup, nullptr).front();
}

}  // namespace

TEST_CASE("ppo, trpo: units of features, actions and losses do not matter") {
  for (const char* method : {"ppo", "trpo"}) {
    CAPTURE(method);
    const RunRecord plain = rolled_out("follow", method), raw = rolled_out("follow-raw", method);
    CHECK(plain.loss.back() < plain.loss.front() - 0.1);
    for (std::size_t m = 0; m < plain.loss.size(); ++m) {
      // The units are powers of two, so that only sums of centred columns round otherwise.
      CHECK(raw.loss[m] / 64 == doctest::Approx(plain.loss[m]).epsilon(1e-9));
      CHECK(raw.curves.at("scale")[m] / 1024 == doctest::Approx(plain.curves.at("scale")[m]).epsilon(1e-9));
      CHECK(raw.curves.at("value_loss")[m] / 4096 == doctest::Approx(plain.curves.at("value_loss")[m]).epsilon(1e-9));
      CHECK(raw.curves.at("entropy")[m] - std::log(1024.0) ==
            doctest::Approx(plain.curves.at("entropy")[m]).epsilon(1e-9));
    }
  }
}

TEST_CASE("ppo, trpo: losses that are all the same end in the clone of who logged the first batch") {
  for (const char* method : {"ppo", "trpo"}) {
    const RunRecord run = rolled_out("equal", method);
    for (const double loss : run.loss) CHECK(loss == doctest::Approx(0.3));
    for (std::size_t m = 1; m < run.loss.size(); ++m) {
      CHECK(run.curves.at("kl")[m] < 1e-6);
      CHECK(run.curves.at("scale")[m] == doctest::Approx(run.curves.at("scale")[0]).epsilon(1e-3));
    }
  }
}

TEST_CASE("ppo, trpo: one row a batch is finished, a learning rate beyond all numbers is an error") {
  for (const char* method : {"ppo", "trpo"}) {
    RunOptions options;
    options.batches = {1, Growth::linear};
    for (const double loss : rolled_out("follow", method, options).loss) CHECK(std::isfinite(loss));
    options.reinforcement.ppo.rate = 1e200;
    options.reinforcement.pretraining.rate = 1e200;
    CHECK_THROWS_WITH_AS(rolled_out("follow", method, options), doctest::Contains("use a smaller learning rate"),
                         Error);
  }
}

TEST_CASE("ppo, trpo: a start policy that no actor can be is refused by its name") {
  CHECK_THROWS_WITH_AS(rolled_out("lognormal", "ppo"), doctest::Contains("a lognormal policy"), Error);
}
