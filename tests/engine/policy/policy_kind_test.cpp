// labels: fast statistical
#include "scrm/engine/policy/policy_kind.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/random_rows.hpp"

namespace {

using namespace scrm;
using testing::random_policy;

constexpr int kActions = 3;
// Continuous actions are looked at on this grid, fine and wide enough for scores near zero and scales near one.
constexpr double kLowest = -20, kHighest = 60, kStep = 0.005;

Schema schema_for(ActionKind action) {
  Schema schema;
  schema.features = 1;
  schema.action_kind = action;
  schema.num_actions = action == ActionKind::continuous ? 0 : kActions;
  if (action == ActionKind::multilabel) schema.propensity = PropensityForm::logarithm;
  return schema;
}

/// One policy of a kind, or two where epsilon can be mixed in in two ways.
std::vector<Policy> policies_of(const PolicyKindDefinition& kind, const Schema& schema) {
  const double epsilon = kind.format.epsilon ? 0.2 : 0.0;
  std::vector<Policy> out = {random_policy(kind.format.kind, schema, 3, FeatureMap::linear, epsilon)};
  if (kind.format.mixing) {
    out.push_back(random_policy(kind.format.kind, schema, 3, FeatureMap::linear, epsilon, Mixing::label));
  }
  return out;
}

using Check = std::function<void(const PolicyKindDefinition&, const Policy&, const Schema&)>;

/// Every policy of every kind with every kind of action that it acts on.
void for_every_kind(const Check& check) {
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    for (const ActionKind action : kind.actions) {
      const Schema schema = schema_for(action);
      for (const Policy& policy : policies_of(kind, schema)) {
        CAPTURE(std::string(kind.format.kind.name()));
        CAPTURE(to_string(action));
        check(kind, policy, schema);
      }
    }
  }
}

/// Actions with numbers: all of them, or the grid's.
int count_actions(ActionKind action) {
  if (action == ActionKind::continuous) return static_cast<int>((kHighest - kLowest) / kStep);
  return action == ActionKind::categorical ? kActions : 1 << kActions;
}

void put_action(const Schema& schema, int number, int row, BlockBuffer& buffer) {
  if (schema.action_kind == ActionKind::continuous) buffer.action()[row] = kLowest + (number + 0.5) * kStep;
  if (schema.action_kind == ActionKind::categorical) buffer.category()[row] = number;
  for (int k = 0; schema.action_kind == ActionKind::multilabel && k < kActions; ++k) {
    buffer.bits()[k * kBlockRows + row] = static_cast<std::uint8_t>(number >> k & 1);
  }
}

int number_of_action(const Schema& schema, int row, BlockBuffer& buffer) {
  if (schema.action_kind == ActionKind::continuous) {
    const double at = (buffer.action()[row] - kLowest) / kStep;
    return static_cast<int>(std::clamp(at, 0.0, count_actions(schema.action_kind) - 1.0));
  }
  if (schema.action_kind == ActionKind::categorical) return buffer.category()[row];
  int number = 0;
  for (int k = 0; k < kActions; ++k) number |= buffer.bits()[k * kBlockRows + row] << k;
  return number;
}

/// The probability of every action (of its cell of the grid) in a context of one feature that is 1.
std::vector<double> probabilities(const Policy& policy, const Schema& schema) {
  const auto target = make_target_policy(policy, schema, "the policy");
  PolicyScratch scratch;
  BlockBuffer buffer(schema);
  std::fill_n(buffer.context_f64(), kBlockRows, 1.0);
  std::vector<double> out;
  for (int first = 0; first < count_actions(schema.action_kind); first += kBlockRows) {
    const int rows = std::min(kBlockRows, count_actions(schema.action_kind) - first);
    for (int i = 0; i < rows; ++i) put_action(schema, first + i, i, buffer);
    testing::Columns<double> density;
    target->density(buffer.view(0, rows), scratch, density.data());
    const double width = schema.action_kind == ActionKind::continuous ? kStep : 1.0;
    for (int i = 0; i < rows; ++i) out.push_back(density[i] * width);
  }
  return out;
}

}  // namespace

TEST_CASE("policy kinds: probabilities of all actions add up to one") {
  for_every_kind([](const PolicyKindDefinition&, const Policy& policy, const Schema& schema) {
    double sum = 0;
    for (const double p : probabilities(policy, schema)) sum += p;
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));  // the grid cuts the tails of a lognormal
  });
}

TEST_CASE("policy kinds: actions are drawn as often as their density says") {
  // The number of draws at or below each of a few actions: 4.5 standard errors, some fifty comparisons, false alarms
  // 3e-4; the seed is fixed.
  constexpr int kBlocks = 10;
  for_every_kind([](const PolicyKindDefinition& kind, const Policy& policy, const Schema& schema) {
    const std::vector<double> expected = probabilities(policy, schema);
    std::vector<double> drawn(expected.size());
    BlockBuffer buffer(schema);
    std::fill_n(buffer.context_f64(), kBlockRows, 1.0);
    const Block block = buffer.view(0, kBlockRows);
    PolicyScratch scratch;
    testing::Columns<double> scores(kActions), normals;
    make_target_policy(policy, schema, "the policy")->scores(block, scratch, scores.data());
    for (int b = 0; b < kBlocks; ++b) {
      for (int i = 0; i < kBlockRows; ++i) {
        RandomStream random(7, 1, static_cast<std::uint64_t>(b * kBlockRows + i));
        if (kind.sample != nullptr) kind.sample(policy, block, scores.data(), i, random, buffer);
        normals[i] = random.normal();
      }
      if (kind.actions_from_normals != nullptr) {
        kind.actions_from_normals(policy, kBlockRows, scores.data(), normals.data(), buffer.action());
      }
      for (int i = 0; i < kBlockRows; ++i) drawn[static_cast<std::size_t>(number_of_action(schema, i, buffer))] += 1;
    }
    constexpr double kDraws = kBlocks * kBlockRows;
    double below = 0, below_drawn = 0, next = 0.1;
    for (std::size_t a = 0; a + 1 < expected.size(); ++a) {
      below += expected[a];
      below_drawn += drawn[a];
      if (below < next || below > 0.999) continue;
      next = below + 0.1;
      CHECK(std::abs(below_drawn / kDraws - below) < 4.5 * std::sqrt(below * (1 - below) / kDraws) + 1e-3);
    }
    CHECK(next > 0.1);
  });
}

TEST_CASE("policy kinds: a draw from a tile is the draw from whole columns") {
  for_every_kind([](const PolicyKindDefinition& kind, const Policy& policy, const Schema& schema) {
    if (kind.sample_tile == nullptr) return;
    BlockBuffer whole(schema), tiled(schema);
    for (int i = 0; i < kBlockRows; ++i) whole.context_f64()[i] = tiled.context_f64()[i] = 0.01 * i - 7;
    constexpr int kRows = 100;  // more than a tile, and no whole number of them
    const Block block = whole.view(0, kRows);
    const auto target = make_target_policy(policy, schema, "the policy");
    REQUIRE(target->has_tile_scores(block));
    PolicyScratch scratch;
    testing::Columns<double> scores(kActions), few(kActions);
    target->scores(block, scratch, scores.data());
    ScoreTile all{.scores = few.data(), .actions = kActions};
    for (int i = 0; i < kRows; ++i) {
      if (i % kScoreTileRows == 0) {
        all.first_row = i;
        all.rows = score_tile_rows(i, kRows);
        target->tile_scores(block, {i, all.rows, 0, kActions, few.data(), all.stride});
      }
      RandomStream one(7, 1, static_cast<std::uint64_t>(i)), other = one;
      kind.sample(policy, block, scores.data(), i, one, whole);
      kind.sample_tile(policy, block, all, i, other, tiled);
      CHECK(number_of_action(schema, i, tiled) == number_of_action(schema, i, whole));
    }
  });
}

TEST_CASE("policy kinds: gradients are the differences of log-densities, of whole actions and of single bits") {
  constexpr double kDelta = 1e-5;
  for_every_kind([](const PolicyKindDefinition& kind, const Policy& policy, const Schema& schema) {
    if (kind.score_gradient == nullptr) return;
    BlockBuffer buffer(schema);
    constexpr int kRows = 8;
    for (int i = 0; i < kRows; ++i) put_action(schema, i % count_actions(schema.action_kind), i, buffer);
    for (int i = 0; schema.action_kind == ActionKind::continuous && i < kRows; ++i) buffer.action()[i] = 0.3 + 0.4 * i;
    const Block block = buffer.view(0, kRows);
    const int outputs = policy.outputs;
    testing::Columns<double> scores(outputs), high(outputs), low(outputs), slopes(outputs), out(outputs);
    testing::Columns<double> plain, up(kActions), down(kActions);
    for (int k = 0; k < outputs; ++k) {
      for (int i = 0; i < kBlockRows; ++i) scores[k * kBlockRows + i] = 0.1 * i - 0.4 * k;
    }
    const auto shift = [&](int k, double delta, testing::Columns<double>& to) {
      std::copy_n(scores.data(), outputs * kBlockRows, to.data());
      for (int i = 0; i < kBlockRows; ++i) to[k * kBlockRows + i] += delta;
    };
    std::copy_n(scores.data(), outputs * kBlockRows, slopes.data());
    kind.score_gradient(policy, block, slopes.data(), out.data());
    kind.log_density(policy, block, scores.data(), plain.data());
    for (int i = 0; i < kRows; ++i) CHECK(out[i] == doctest::Approx(plain[i]).epsilon(1e-12));
    const auto check_slopes = [&](int k, const double* above, const double* below, auto log) {
      for (int i = 0; i < kRows; ++i) {
        const double difference = (log(above[i]) - log(below[i])) / (2 * kDelta);
        CHECK(slopes[k * kBlockRows + i] == doctest::Approx(difference).epsilon(1e-6));
      }
    };
    for (int k = 0; k < outputs; ++k) {
      shift(k, kDelta, high);
      shift(k, -kDelta, low);
      kind.log_density(policy, block, high.data(), up.data());
      kind.log_density(policy, block, low.data(), down.data());
      check_slopes(k, up.data(), down.data(), [](double value) { return value; });
    }
    if (kind.label_gradient == nullptr) return;
    std::copy_n(scores.data(), outputs * kBlockRows, slopes.data());
    kind.label_gradient(policy, block, slopes.data(), out.data());
    for (int k = 0; k < outputs; ++k) {
      shift(k, kDelta, high);
      shift(k, -kDelta, low);
      kind.label_probability(policy, block, high.data(), up.data());
      kind.label_probability(policy, block, low.data(), down.data());
      check_slopes(k, up.data() + k * kBlockRows, down.data() + k * kBlockRows, [](double p) { return std::log(p); });
    }
  });
}

TEST_CASE("policy kinds: every kind's file reads back to the policy") {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("scrm_kind_{}.toml", ::getpid()));
  for_every_kind([&](const PolicyKindDefinition& kind, const Policy& policy, const Schema&) {
    write_policy(path, policy);
    const Policy back = read_policy(path);
    CHECK(back.kind == policy.kind);
    CHECK(back.theta == policy.theta);
    CHECK(back.outputs == policy.outputs);
    if (!kind.format.scale.empty()) CHECK(back.scale == policy.scale);
    if (kind.format.theta != ThetaRows::none) CHECK(back.epsilon == policy.epsilon);
    CHECK(back.mixing == policy.mixing);
  });
  std::filesystem::remove(path);
}

namespace {

/// The message of the usage error that a function throws.
std::string usage_error(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  FAIL("no error");
  return {};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("policy kinds: a name that is not there is answered with those that are") {
  const std::string message = usage_error([] { policy_kind(PolicyKind("cauchy")); });
  CHECK(holds(message, "'cauchy'"));
  CHECK(holds(message, "gaussian, lognormal, softmax, multilabel or uniform"));
  CHECK(names_of_kinds({}).empty());
  CHECK(names_of_kinds({&policy_kind(PolicyKind::softmax)}) == "softmax");
}

TEST_CASE("policy kinds: what is incomplete or there already is not registered") {
  const auto refusal = [](const PolicyKindDefinition& kind) {
    return usage_error([&kind] { register_policy_kind(kind); });
  };
  PolicyKindDefinition kind = policy_kind(PolicyKind::gaussian);
  CHECK(holds(refusal(kind), "'gaussian' cannot be registered: there is one of that name already"));
  kind.format.kind = PolicyKind("");
  CHECK(holds(refusal(kind), "no name"));
  kind.format.kind = PolicyKind("another");
  kind.actions = {};
  CHECK(holds(refusal(kind), "no kind of action"));
  kind.actions = {ActionKind::continuous, ActionKind::categorical};
  CHECK(holds(refusal(kind), "one kind of action"));
  kind.actions = {ActionKind::continuous};
  kind.actions_from_normals = nullptr;
  CHECK(holds(refusal(kind), "sample"));
  kind = policy_kind(PolicyKind::uniform);
  kind.format.kind = PolicyKind("another");
  kind.score_gradient = policy_kind(PolicyKind::softmax).score_gradient;
  CHECK(holds(refusal(kind), "gradient"));
  kind.log_density = nullptr;
  CHECK(holds(refusal(kind), "log_density"));
  CHECK_THROWS_WITH_AS(policy_kind(PolicyKind("another")), doctest::Contains("there is no kind of policy 'another'"),
                       Error);
}

TEST_CASE("policy kinds: data that a policy does not fit is told which kinds would, and what has no gradient stays") {
  PolicyKindDefinition fixed = policy_kind(PolicyKind::gaussian);
  fixed.format.kind = PolicyKind("fixed");
  fixed.score_gradient = nullptr;
  register_policy_kind(fixed);
  const Schema schema = schema_for(ActionKind::continuous);
  try {
    make_target_policy(random_policy(PolicyKind::softmax, schema_for(ActionKind::categorical), 1), schema, "p.toml");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(holds(error.what(), "the data needs kind = gaussian, lognormal or fixed"));
  }
  MemorySource source = testing::make_source(testing::random_rows(schema, 10, 1));
  const auto fit = [&source](const Policy& start) { return usage_error([&] { learn(source, start, {}, {}); }); };
  CHECK(fit(random_policy(PolicyKind::uniform, schema, 1)) ==
        "a uniform policy has no parameters: there is nothing to learn");
  CHECK(fit(random_policy(PolicyKind("fixed"), schema, 1)) ==
        "a fixed policy cannot be learned: its kind has no score gradient");
}
