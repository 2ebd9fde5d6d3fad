// labels: fast threads
#include "scrm/engine/pass/pass.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// A source whose groups are as large as the test says, and whose rows with a loss above a limit are bad.
class GroupedSource final : public Source {
 public:
  GroupedSource(MemorySource& rows, int group, double worst_loss)
      : rows_(rows), group_(group), worst_loss_(worst_loss) {}

  const Schema& schema() const override { return rows_.schema(); }
  std::int64_t rows() const override { return rows_.rows(); }
  int group_blocks() const override { return group_; }
  std::size_t group_bytes() const override { return 1000; }
  std::size_t loader_bytes() const override { return 100; }
  std::unique_ptr<BlockLoader> make_loader() const override { return std::make_unique<Loader>(schema()); }

  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override {
    CHECK(first_block == next_block);  // one call at a time, in ascending order
    next_block += count;
    return rows_.fetch(first_block, count);
  }

  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override {
    BlockLoader unused;
    const Block block = rows_.load(group, index, unused, audit);
    BlockBuffer& buffer = static_cast<Loader&>(loader).buffer;
    int kept = 0;
    for (int i = 0; i < block.rows; ++i) {
      if (block.loss[i] <= worst_loss_) {
        buffer.loss()[kept++] = block.loss[i];
        continue;
      }
      Audit one;
      one.counts[static_cast<std::size_t>(BadRowReason::loss_not_finite)] = 1;
      one.first = BadValue{BadRowReason::loss_not_finite, "made up", "loss", block.first_row + i, block.loss[i]};
      audit.merge(one);
    }
    return buffer.view(block.first_row, kept);
  }

  std::int64_t next_block = 0;

 private:
  struct Loader final : BlockLoader {
    explicit Loader(const Schema& schema) : buffer(schema) {}
    BlockBuffer buffer;
  };

  MemorySource& rows_;
  int group_;
  double worst_loss_;
};

LoggedRows some_rows(std::int64_t n) {
  Schema schema;
  return random_rows(schema, n, 17);
}

/// Sums whose bits change with any change in the order of merges, and the order itself.
struct OrderedSums {
  double sum = 0;
  std::int64_t first = -1, last = -1, rows = 0;
};

void compute_sums(const Block& block, OrderedSums& out) {
  out = {0, block.first_row / kBlockRows, block.first_row / kBlockRows, block.rows};
  for (int i = 0; i < block.rows; ++i) out.sum += std::exp(3 * block.loss[i]);
}

std::pair<OrderedSums, Audit> run(Source& source, int threads, bool& in_order) {
  std::atomic<bool> ordered = true;
  const auto merge = [&ordered](OrderedSums& earlier, const OrderedSums& later) {
    if (earlier.last + 1 != later.first) ordered = false;
    earlier.sum = std::sqrt(earlier.sum * earlier.sum + later.sum * later.sum);  // far from associative
    earlier.last = later.last;
    earlier.rows += later.rows;
  };
  PassOptions options;
  options.threads = threads;
  const auto result = run_pass(source, OrderedSums{}, compute_sums, merge, options);
  in_order = ordered;
  return result;
}

constexpr double kNoBadRows = 1e300;

}  // namespace

TEST_CASE("run_pass: the same bits for any number of threads and any size of groups, bad rows or not") {
  const LoggedRows rows = some_rows(77 * kBlockRows + 5);
  MemorySource memory = make_source(rows);
  for (const double worst_loss : {kNoBadRows, 1.0}) {
    std::vector<OrderedSums> all;
    for (const int threads : {1, 2, 3, 8}) {
      for (const int group : {1, 2, 8, 64, 128}) {
        CAPTURE(threads);
        CAPTURE(group);
        GroupedSource source(memory, group, worst_loss);
        bool in_order = false;
        const auto [sums, audit] = run(source, threads, in_order);
        CHECK(in_order);
        CHECK(source.next_block == source.blocks());
        CHECK(sums.first == 0);
        CHECK(sums.last == source.blocks() - 1);
        CHECK(sums.rows + audit.bad_rows() == rows.rows);
        CHECK((audit.bad_rows() > 0) == (worst_loss < kNoBadRows));
        all.push_back(sums);
      }
    }
    for (const OrderedSums& sums : all) {
      CHECK(sums.sum == all.front().sum);
      CHECK(sums.rows == all.front().rows);
    }
  }
}

TEST_CASE("run_pass: the first bad row is the earliest, whichever thread finds one first") {
  const LoggedRows rows = some_rows(40 * kBlockRows);
  std::int64_t first = 0, count = 0;
  for (std::int64_t i = rows.rows - 1; i >= 0; --i) {
    if (rows.loss[static_cast<std::size_t>(i)] <= 2.0) continue;
    first = i;
    ++count;
  }
  REQUIRE(count > 10);
  MemorySource memory = make_source(rows);
  for (const int threads : {1, 2, 3, 8}) {
    GroupedSource source(memory, 1, 2.0);
    bool in_order = false;
    const Audit audit = run(source, threads, in_order).second;
    REQUIRE(audit.first.has_value());
    CHECK(audit.first->row == first);
    CHECK(audit.bad_rows() == count);
  }
}

TEST_CASE("run_pass: every block is computed once, and merged once less") {
  MemorySource memory = make_source(some_rows(50 * kBlockRows + 1));
  for (const int threads : {1, 3}) {
    std::vector<std::atomic<int>> computed(51);
    std::atomic<int> merges = 0;
    PassOptions options;
    options.threads = threads;
    run_pass(
        memory, 0,
        [&](const Block& block, int&) { ++computed[static_cast<std::size_t>(block.first_row / kBlockRows)]; },
        [&](int&, const int&) { ++merges; }, options);
    for (const std::atomic<int>& times : computed) CHECK(times == 1);
    CHECK(merges == 50);
  }
}

TEST_CASE("run_pass: no block gives empty sums, one block gives its own") {
  MemorySource empty = make_source(some_rows(0));
  const auto nothing = run_pass(
      empty, 42, [](const Block&, int& out) { out = 7; }, [](int&, const int&) {}, {});
  CHECK(nothing.first == 42);
  CHECK(nothing.second.bad_rows() == 0);
  for (const std::int64_t n : {1, kBlockRows}) {
    MemorySource one = make_source(some_rows(n));
    const auto sums = run_pass(
        one, 0, [](const Block& block, int& out) { out = block.rows; }, [](int&, const int&) { FAIL("no merge"); }, {});
    CHECK(sums.first == n);
  }
}

TEST_CASE("run_pass: what a reduction throws reaches the caller, from any thread, and the next pass works") {
  MemorySource memory = make_source(some_rows(64 * kBlockRows));
  for (const int threads : {1, 2, 8}) {
    for (const std::int64_t bad_block : {0, 13, 63}) {
      CAPTURE(threads);
      CAPTURE(bad_block);
      GroupedSource source(memory, 2, kNoBadRows);
      PassOptions options;
      options.threads = threads;
      const auto compute = [bad_block](const Block& block, int&) {
        if (block.first_row / kBlockRows == bad_block) throw std::domain_error("block is bad");
      };
      CHECK_THROWS_WITH_AS(run_pass(
                               source, 0, compute, [](int&, const int&) {}, options),
                           "block is bad", std::domain_error);
      const auto merge_throws = [](int&, const int&) { throw std::range_error("merge is bad"); };
      GroupedSource again(memory, 2, kNoBadRows);
      CHECK_THROWS_WITH_AS(run_pass(
                               again, 0, [](const Block&, int&) {}, merge_throws, options),
                           "merge is bad", std::range_error);
      GroupedSource good(memory, 2, kNoBadRows);
      bool in_order = false;
      CHECK(run(good, threads, in_order).first.rows == memory.rows());
    }
  }
}

TEST_CASE("run_pass: a budget too small for one group is an error, a small one still gives the same bits") {
  MemorySource memory = make_source(some_rows(20 * kBlockRows));
  const auto sum_with = [&memory](std::size_t budget) {
    GroupedSource source(memory, 1, kNoBadRows);
    PassOptions options;
    options.threads = 4;
    options.memory = budget;
    return run_pass(
               source, OrderedSums{}, compute_sums,
               [](OrderedSums& a, const OrderedSums& b) { a.sum = std::hypot(a.sum, b.sum); }, options)
        .first.sum;
  };
  CHECK_THROWS(sum_with(1099));
  CHECK(sum_with(1100) == sum_with(0));
  CHECK(sum_with(3500) == sum_with(0));
}

TEST_CASE("run_pass: progress counts up to all rows and is never reported from two threads at once") {
  MemorySource memory = make_source(some_rows(30 * kBlockRows + 3));
  for (const int threads : {1, 4}) {
    GroupedSource source(memory, 2, kNoBadRows);
    std::atomic<int> inside = 0;
    bool alone = true, ascending = true;
    std::int64_t last = 0;
    PassOptions options;
    options.threads = threads;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      alone = alone && ++inside == 1;
      ascending = ascending && done > last && total == memory.rows();
      last = done;
      --inside;
    };
    run_pass(
        source, 0, [](const Block&, int&) {}, [](int&, const int&) {}, options);
    CHECK(alone);
    CHECK(ascending);
    CHECK(last == memory.rows());
  }
}

TEST_CASE("memory source: a copy holds the rows of its source, and bad rows throw or are left out") {
  MemorySource memory = make_source(some_rows(5 * kBlockRows + 9));
  GroupedSource good(memory, 2, kNoBadRows);
  PassOptions options;
  options.threads = 2;
  MemorySource copy(good, options, false);
  bool in_order = false;
  CHECK(run(copy, 2, in_order).first.sum == run(memory, 1, in_order).first.sum);
  GroupedSource bad(memory, 2, 1.0);
  CHECK_THROWS(MemorySource(bad, options, false));
  GroupedSource skipped(memory, 2, 1.0), direct(memory, 2, 1.0);
  MemorySource left(skipped, options, true);
  CHECK(left.audit().bad_rows() > 0);
  CHECK(run(left, 3, in_order).first.sum == run(direct, 1, in_order).first.sum);
}
