// labels: fast threads
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/pass/summary.hpp"
#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/random_rows.hpp"
#include "support/same_on_ranks.hpp"
#include "support/sanitizers.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

Schema small_schema(bool cluster = false) {
  Schema schema;
  schema.features = 2;
  schema.cluster = cluster;
  return schema;
}

const std::vector<int> kRankCounts = few_under_sanitizers<std::vector<int>>({1, 3, 5}, {1, 2, 3, 5, 8});

}  // namespace

TEST_CASE("rank share: the ranks' blocks follow each other, and none has many more than another") {
  for (const std::int64_t blocks : {0, 1, 2, 7, 100, 4883, 100003}) {
    for (const int ranks : {1, 2, 3, 5, 64, 1000}) {
      CAPTURE(blocks);
      CAPTURE(ranks);
      std::int64_t next = 0, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const BlockRange share = rank_share(blocks, rank, ranks);
        CHECK(share.first == next);
        CHECK(share.end >= share.first);
        next = share.end;
        most = std::max(most, share.end - share.first);
      }
      CHECK(next == blocks);
      if (ranks <= 64) CHECK(static_cast<double>(most) <= 1.0 + 1.13 * static_cast<double>(blocks) / ranks);
    }
  }
}

TEST_CASE("ranks: a pass gives the same bits on any number of them, and the rows in between nobody loses") {
  for (const std::int64_t rows : {1, 2048, 5000, 70 * 2048 + 9}) {
    CAPTURE(rows);
    const LoggedRows logged = random_rows(small_schema(), rows, 3);
    check_same_on_ranks(kRankCounts, [&](const PassOptions& pass) {
      MemorySource source = make_source(logged);
      const Summary summary = summarize(source, pass).first;
      return std::to_string(summary.rows) + bits_of(summary.loss) + bits_of(summary.features[1]) +
             bits_of(summary.log_propensity);
    });
  }
}

TEST_CASE("ranks: evaluate gives the same bits, with clusters, groups of rows and replicates") {
  for (const bool cluster : {false, true}) {
    LoggedRows logged = random_rows(small_schema(cluster), few_under_sanitizers(9, 40) * 2048 + 77, 5, 3);
    for (std::int64_t& one : logged.cluster) one = (one & 0xFFFF) % 9000;
    for (const IntervalKind interval : {IntervalKind::automatic, IntervalKind::bootstrap, IntervalKind::bernstein}) {
      CAPTURE(cluster);
      if (cluster && interval == IntervalKind::bernstein) continue;
      check_same_on_ranks(kRankCounts, [&](const PassOptions& pass) {
        MemorySource source = make_source(logged);
        EvaluateOptions options;
        options.interval = interval;
        options.replicates = 50;
        const Policy policy = random_policy(PolicyKind::gaussian, logged.schema, 9);
        return bits_of(evaluate(source, {{"it", make_target_policy(policy, logged.schema, "it")}}, options, pass));
      });
    }
  }
}

TEST_CASE("ranks: learn finds the same parameters, each rank with its own rows in memory") {
  const LoggedRows logged = random_rows(small_schema(true), few_under_sanitizers(20, 150) * 2048 + 5, 8);
  check_same_on_ranks(kRankCounts, [&](const PassOptions& pass) {
    MemorySource all = make_source(logged);
    MemorySource source(all, pass, false);
    Policy start = random_policy(PolicyKind::gaussian, logged.schema, 2);
    const RowMask train = training_rows(source, SplitUnit::cluster, 0.3, 4, pass);
    LearnOptions options;
    options.rows = &train;
    options.lambdas = {0.1, 1};
    options.lambda_rule = LambdaRule::automatic;
    options.minimize.max_iterations = 5;
    options.standardize = true;
    const LearnReport report = learn(source, start, options, pass);
    std::string text = std::to_string(train.count()) + " ";
    for (const double theta : report.policies.front().policy.theta) text += bits_of(theta);
    return text;
  });
}

TEST_CASE("ranks: what one of them throws in a pass, all of them throw, and the next pass works") {
  const LoggedRows logged = random_rows(small_schema(), 30 * 2048, 3);
  for (const int size : {2, 3, 5}) {
    CAPTURE(size);
    const std::size_t unread = on_ranks(size, [&](Ranks& ranks) {
      PassOptions pass;
      pass.threads = 1;
      pass.ranks = &ranks;
      MemorySource source = make_source(logged);
      const auto merge = [](double& a, double b) { a += b; };
      CHECK_THROWS_WITH_AS(run_pass(
                               source, 0.0,
                               [&](const Block&, double&) {
                                 if (ranks.rank() == 1) throw Error(ErrorKind::data, "no");
                               },
                               merge, pass),
                           "no", Error);
      const auto count = [](const Block& block, double& out) { out = block.rows; };
      CHECK(run_pass(source, 0.0, count, merge, pass).first == 30 * 2048);
    });
    CHECK(unread == 0);
  }
}

TEST_CASE("ranks: one that ends early makes the others' passes fail, and nobody waits for ever") {
  const LoggedRows logged = random_rows(small_schema(), 30 * 2048, 3);
  for (int size = 2; size < few_under_sanitizers(6, 9); ++size) {
    for (int early = 0; early < size; ++early) {
      const std::size_t unread = on_ranks(size, [&](Ranks& ranks) {
        if (ranks.rank() == early) {
          const auto first = finish_ranks(ranks, Failure{early, ErrorKind::file, "cannot open it"});
          CHECK(first.has_value());
          return;
        }
        PassOptions pass;
        pass.threads = 1;
        pass.ranks = &ranks;
        MemorySource source = make_source(logged);
        std::string message;
        try {
          summarize(source, pass);
        } catch (const Error& error) {
          message = error.what();
        }
        CHECK(message == "cannot open it (on rank " + std::to_string(early) + " of " + std::to_string(size) + ")");
        const auto first = finish_ranks(ranks, Failure{ranks.rank(), ErrorKind::file, message});
        CHECK(first.has_value());
      });
      CHECK(unread == 0);
    }
  }
}

TEST_CASE("ranks: different facts are named with a rank that has them, and the least of numbers is everyone's") {
  for (int size = 2; size < 8; ++size) {
    on_ranks(size, [&](Ranks& ranks) {
      CHECK(least_of_ranks(ranks, 10 - ranks.rank()) == 11 - size);
      CHECK(text_of_first_rank(ranks, std::to_string(ranks.rank())) == "0");
      require_same_on_ranks(ranks, {{"version", "1"}});
      std::string message;
      try {
        require_same_on_ranks(ranks, {{"version", "1"}, {"inputs", ranks.rank() == size - 1 ? "new" : "old"}});
      } catch (const Error& error) {
        message = error.what();
      }
      CHECK(message.find("the ranks differ in inputs: old on rank ") == 0);
      CHECK(message.find("new on rank " + std::to_string(size - 1)) != std::string::npos);
    });
  }
}

TEST_CASE("byte stream: values come back as they were, and a message that ends too early is noticed") {
  std::vector<std::string> words = {"", "one", "a longer one"};
  std::vector<Moments> moments = {Moments::of(1.5), Moments{}};
  std::optional<std::string> nothing, something = "here";
  ByteStream out;
  transfer(out, words);
  transfer(out, moments);
  transfer(out, nothing);
  transfer(out, something);
  Bytes bytes = out.take();
  const auto read = [](Bytes message) {
    ByteStream in(std::move(message));
    std::vector<std::string> texts;
    std::vector<Moments> numbers;
    std::optional<std::string> first = "old", second;
    transfer(in, texts);
    transfer(in, numbers);
    transfer(in, first);
    transfer(in, second);
    CHECK(in.left() == 0);
    CHECK(texts == std::vector<std::string>{"", "one", "a longer one"});
    CHECK(numbers[0].mean == 1.5);
    CHECK(!first);
    CHECK(second == "here");
  };
  read(bytes);
  bytes.pop_back();
  CHECK_THROWS_WITH_AS(read(bytes), "a message between ranks ends too early", Error);
}
