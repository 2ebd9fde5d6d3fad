// labels: slow statistical
#include "study/designs/designs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"

using namespace scrm;

namespace {

constexpr std::int64_t kLeastRows = 200'000;
// Rows of a cluster are one draw: means of 20 rows that follow each other are independent in every design.
constexpr std::int64_t kBatch = 20;
// Rows are drawn until the mean is known to one part in a hundred: a rate of 0.1 % takes ten million.
constexpr double kResolution = 0.01;

// Checks are at five standard errors, 6e-7 by chance, 24 designs with three each: a false alarm in one of 20,000 seeds,
// and seeds are fixed. A truth that is a tenth wrong lies at least ten standard errors away.
constexpr double kMostErrors = 5;

/// Mean and standard error of batch means.
struct BatchMeans {
  std::int64_t count = 0;
  double mean = 0, squares = 0;

  void add(double value) {
    ++count;
    const double off = value - mean;
    mean += off / static_cast<double>(count);
    squares += off * (value - mean);
  }
  double error() const {
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n);
  }
  bool agrees_with(double truth) const { return std::abs(mean - truth) < kMostErrors * error(); }
};

/// What `of` gives for rows in which `actor` acts. The first rows say how many there have to be.
template <class Of>
BatchMeans simulate(const StudyDesign& design, Actor actor, const Of& of) {
  RandomStream stream(20'24, 7, static_cast<std::uint64_t>(actor));
  BatchMeans out;
  DrawnRow row;
  std::int64_t at = 0;
  const auto draw_until = [&](std::int64_t end) {
    for (; at < end; at += kBatch) {
      double sum = 0;
      for (std::int64_t i = at; i < at + kBatch; ++i) {
        design.draw(stream, i, actor, row);
        sum += of(row);
      }
      out.add(sum / kBatch);
    }
  };
  draw_until(kLeastRows);
  const double coarse = out.error() / (kResolution * std::abs(out.mean));
  draw_until(static_cast<std::int64_t>(kLeastRows * coarse * coarse));
  return out;
}

double loss(const DrawnRow& row) {
  return row.loss;
}

}  // namespace

TEST_CASE("designs: the value of every target policy is what it costs when it acts, and a tenth more is not") {
  for (const StudyDesign& design : study_designs()) {
    CAPTURE(design.name);
    const BatchMeans seen = simulate(design, Actor::target, loss);
    CHECK(seen.agrees_with(design.value));
    CHECK(!seen.agrees_with(1.1 * design.value));
  }
}

TEST_CASE("designs: the logged mean of every design is what logging costs, and a tenth more is not") {
  for (const StudyDesign& design : study_designs()) {
    CAPTURE(design.name);
    const BatchMeans seen = simulate(design, Actor::logging, loss);
    CHECK(seen.agrees_with(design.logged_mean));
    CHECK(!seen.agrees_with(1.1 * design.logged_mean));
  }
}

TEST_CASE("designs: weighted losses of logged rows average to the value where propensities are right") {
  for (const StudyDesign& design : study_designs()) {
    // A few rows hold most of the weight there: their mean is not normal.
    if (design.name == "far-1.5" || design.name == "far-2") continue;
    CAPTURE(design.name);
    const BatchMeans seen =
        simulate(design, Actor::logging, [](const DrawnRow& row) { return row.target / row.propensity * row.loss; });
    CHECK(seen.agrees_with(design.value) == design.right_propensities);
  }
}

TEST_CASE("further designs: values and logged means are what acting and logging cost") {
  // Where losses have hardly a variance, their mean says nothing within any number of rows.
  const std::set<std::string> without_variance = {"pareto-1.5", "pareto-2.1", "lognormal-2"};
  for (const StudyDesign& design : further_study_designs()) {
    if (without_variance.contains(design.name)) continue;
    CAPTURE(design.name);
    for (const Actor actor : {Actor::target, Actor::logging}) {
      RandomStream stream(20'25, 7, static_cast<std::uint64_t>(actor));
      BatchMeans seen;
      DrawnRow row;
      for (std::int64_t at = 0; at < kLeastRows;) {
        double sum = 0;
        for (int i = 0; i < kBatch; ++i) {
          design.draw(stream, at++, actor, row);
          sum += row.loss;
        }
        seen.add(sum / kBatch);
      }
      CHECK(seen.agrees_with(actor == Actor::target ? design.value : design.logged_mean));
    }
  }
}

TEST_CASE(
    "later and unseen designs: values and logged means are what acting and logging cost, and a tenth more is not") {
  std::vector<StudyDesign> designs = later_study_designs();
  designs.insert(designs.end(), unseen_study_designs().begin(), unseen_study_designs().end());
  for (const StudyDesign& design : designs) {
    CAPTURE(design.name);
    for (const Actor actor : {Actor::target, Actor::logging}) {
      RandomStream stream(20'26, 7, static_cast<std::uint64_t>(actor));
      const double truth = actor == Actor::target ? design.value : design.logged_mean;
      BatchMeans seen;
      DrawnRow row;
      // Each batch is a log of its own: clusters of some designs have rows everywhere in a log.
      for (std::int64_t drawn = 0; drawn < kLeastRows; drawn += kBatch) {
        double sum = 0;
        for (std::int64_t i = 0; i < kBatch; ++i) {
          design.draw(stream, i, actor, row);
          sum += row.loss;
        }
        seen.add(sum / kBatch);
      }
      CHECK(seen.agrees_with(truth));
      // Where the mean is known that well.
      if (100 * seen.error() < std::abs(truth)) CHECK(!seen.agrees_with(1.1 * truth));
    }
  }
}

TEST_CASE("designs: no outcome and no weight lies outside what the design says of them") {
  std::vector<StudyDesign> designs;
  for (const std::vector<StudyDesign>* some : all_study_designs())
    designs.insert(designs.end(), some->begin(), some->end());
  for (const StudyDesign& design : designs) {
    CAPTURE(design.name);
    RandomStream stream(3, 1, 4);
    DrawnRow row;
    double largest = 0;
    for (std::int64_t i = 0; i < 20'000; ++i) {
      design.draw(stream, i, Actor::logging, row);
      REQUIRE(std::isfinite(row.loss));
      if (design.outcome_range) {
        REQUIRE(row.loss >= design.outcome_range->low);
        REQUIRE(row.loss <= design.outcome_range->high);
      }
      largest = std::max(largest, row.target / row.propensity);
    }
    if (design.max_weight) CHECK(largest <= *design.max_weight);
  }
}

TEST_CASE("designs: twenty rows that follow each other are a cluster, and others are none") {
  const StudyDesign& design = find_study_design("clustered");
  RandomStream stream(3, 1, 4);
  DrawnRow row;
  std::set<double> effects;
  for (std::int64_t i = 0; i < 100; ++i) {
    design.draw(stream, i, Actor::logging, row);
    CHECK(row.cluster == i / 20);
    effects.insert(row.shared);
  }
  CHECK(effects.size() == 5);

  DrawnLog log = draw_log(design, {.seed = 1, .rows = 100, .log = 0});
  Audit audit;
  const auto loader = log.source.make_loader();
  const Block block = log.source.load(*log.source.fetch(0, 1), 0, *loader, audit);
  REQUIRE(block.cluster != nullptr);
  for (int i = 0; i < block.rows; ++i) CHECK(block.cluster[i] == i / 20);
}

TEST_CASE("designs: names differ, and one that nobody knows is answered with the others") {
  std::set<std::string> names;
  std::size_t count = 0;
  for (const std::vector<StudyDesign>* designs : all_study_designs()) {
    count += designs->size();
    for (const StudyDesign& design : *designs) {
      names.insert(design.name);
      CHECK(!design.description.empty());
      CHECK(&find_study_design(design.name) == &design);
    }
  }
  CHECK(names.size() == count);
  CHECK_THROWS_WITH_AS(find_study_design("naer"), doctest::Contains("did you mean 'near'?"), Error);
}

namespace {

std::vector<double> losses_of(const StudyDesign& design, const LogKey& key) {
  DrawnLog log = draw_log(design, key);
  std::vector<double> out;
  Audit audit;
  const auto loader = log.source.make_loader();
  const auto group = log.source.fetch(0, static_cast<int>(log.source.blocks()));
  for (std::int64_t b = 0; b < log.source.blocks(); ++b) {
    const Block block = log.source.load(*group, b, *loader, audit);
    out.insert(out.end(), block.loss, block.loss + block.rows);
  }
  return out;
}

}  // namespace

TEST_CASE("draw_log: rows depend on seed, design, size and log, and on nothing else") {
  const StudyDesign& design = find_study_design("near");
  const LogKey key{5, 3000, 17};
  const std::vector<double> log = losses_of(design, key);
  CHECK(log.size() == 3000);
  CHECK(log == losses_of(design, key));
  CHECK(log.front() != losses_of(design, {6, 3000, 17}).front());
  CHECK(log.front() != losses_of(design, {5, 3001, 17}).front());
  CHECK(log.front() != losses_of(design, {5, 3000, 18}).front());
  CHECK(log.front() != losses_of(find_study_design("far-0.5"), key).front());
  CHECK(bootstrap_seed(design, key) == bootstrap_seed(design, key));
  CHECK(bootstrap_seed(design, key) != bootstrap_seed(design, {5, 3000, 18}));
}
