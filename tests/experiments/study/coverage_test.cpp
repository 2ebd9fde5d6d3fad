// labels: slow statistical threads
#include "study/coverage.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "report/text/coverage_text.hpp"
#include "scrm/io/file/error.hpp"
#include "study/tally.hpp"
#include "support/sanitizers.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

CoverageOptions study_of(const std::vector<std::string>& designs, std::vector<IntervalKind> intervals,
                         std::vector<std::int64_t> rows, std::int64_t logs) {
  CoverageOptions options;
  for (const std::string& name : designs) options.designs.push_back(&find_study_design(name));
  options.intervals = std::move(intervals);
  options.rows = std::move(rows);
  options.logs = logs;
  options.threads = 2;
  return options;
}

/// Everything of a record, numbers by their bits.
std::string text_of(const CoverageRecord& record) {
  std::string out = record.design + " " + record.estimator + " " + record.interval + " " + record.message;
  for (const double number :
       {record.coverage, record.coverage_error, record.below, record.above, record.relative_width, record.median_width,
        record.equals_normal, record.warned, record.warned_any, record.warned_ess, record.without})
    out += " " + std::to_string(std::bit_cast<std::uint64_t>(number));
  return out + " " + std::to_string(record.rows) + " " + std::to_string(record.logs);
}

std::string text_of(const std::vector<CoverageRecord>& records) {
  std::string out;
  for (const CoverageRecord& record : records) out += text_of(record) + "\n";
  return out;
}

Estimate between(double low, double high) {
  Estimate out;
  out.low = low;
  out.high = high;
  return out;
}

}  // namespace

TEST_CASE("coverage: the same bits for one and seven threads") {
  CoverageOptions options =
      study_of({"rare-0.05", "multilabel"}, {IntervalKind::normal, IntervalKind::student, IntervalKind::bootstrap},
               {1, 30, 2500}, few_under_sanitizers(12, 70));
  options.threads = 1;
  const std::string alone = text_of(run_coverage_study(options));
  options.threads = 7;
  CHECK(text_of(run_coverage_study(options)) == alone);
  options.seed = 1;
  CHECK(text_of(run_coverage_study(options)) != alone);
}

TEST_CASE("coverage: the normal interval holds at the near design as often as it says") {
  // √(0.95 · 0.05 / 2000) is 0.0049; four of them are passed by chance once in 16,000 times. Four estimates, so one
  // seed in 4,000, and the seed is fixed.
  const auto records = run_coverage_study(study_of({"near"}, {IntervalKind::normal}, {400}, 2000));
  REQUIRE(records.size() == 4);
  for (const CoverageRecord& record : records) {
    CAPTURE(record.estimator);
    CHECK(std::abs(record.coverage - 0.95) < 4 * 0.0049);
    CHECK(record.coverage + record.below + record.above == doctest::Approx(1));
    CHECK(record.coverage_error == doctest::Approx(std::sqrt(record.coverage * (1 - record.coverage) / 2000)));
    CHECK(record.relative_width == 1);
    CHECK(record.without == 0);
  }
}

TEST_CASE("coverage: a truth that is wrong is not covered, and on the side where it lies") {
  StudyDesign wrong = find_study_design("near");
  wrong.value += 1;
  CoverageOptions options = study_of({}, {IntervalKind::normal}, {1000}, 100);
  options.designs = {&wrong};
  const auto records = run_coverage_study(options);
  REQUIRE(records.size() == 4);
  for (const CoverageRecord& record : records) {
    CAPTURE(record.estimator);
    CHECK(record.coverage == 0);
    CHECK(record.below == 1);
  }
}

TEST_CASE("coverage: one log of one row has no interval and a warning") {
  const auto records =
      run_coverage_study(study_of({"near", "multilabel"}, {IntervalKind::normal, IntervalKind::student}, {1}, 1));
  REQUIRE(records.size() == 4 * 2 + 6 * 2);
  for (const CoverageRecord& record : records) {
    CHECK(record.logs == 1);
    CHECK(record.rows == 1);
    CHECK(record.without == 1);
    CHECK(record.warned == 1);
    CHECK(std::isnan(record.coverage));
    CHECK(std::isnan(record.relative_width));
  }
}

TEST_CASE("coverage: records are those asked for, in their order") {
  const auto records =
      run_coverage_study(study_of({"multilabel", "near"}, {IntervalKind::student, IntervalKind::normal}, {30, 20}, 3));
  REQUIRE(records.size() == 2 * 6 * 2 + 2 * 4 * 2);
  CHECK(records[0].design == "multilabel");
  CHECK(records[0].rows == 30);
  CHECK(records[0].estimator == "ips");
  CHECK(records[0].interval == "student");
  CHECK(records[0].relative_width > 1);
  CHECK(records[1].interval == "normal");
  CHECK(records[2].estimator == "ips-difference");
  CHECK(records[11].estimator == "additive-difference");
  CHECK(records[12].rows == 20);
  CHECK(records.back().design == "near");
}

TEST_CASE("coverage: what does not apply to a design is left out with the reason") {
  StudyDesign design = find_study_design("near");
  design.estimators = {"additive"};
  CoverageOptions options = study_of({}, {IntervalKind::normal}, {50}, 100);
  options.designs = {&design};
  for (const CoverageRecord& record : run_coverage_study(options)) {
    CHECK(record.logs == 0);
    CHECK(std::isnan(record.coverage));
    CHECK(record.message.find("it is for multilabel actions") != std::string::npos);
  }
}

TEST_CASE("coverage: wrong propensities bring a warning, right ones seldom one") {
  const auto warned = [](const char* design) {
    return run_coverage_study(study_of({design}, {IntervalKind::normal}, {2000}, 50)).front().warned;
  };
  CHECK(warned("wrong-propensities") == 1);
  CHECK(warned("clustered") < 0.2);
}

TEST_CASE("coverage: progress ends with all rows, and a log that does not fit the memory is refused") {
  CoverageOptions options = study_of({"near"}, {IntervalKind::normal}, {100, 10}, 90);
  std::int64_t done = 0, total = 0;
  options.progress = [&](std::int64_t rows, std::int64_t all) {
    CHECK(rows > done);
    done = rows;
    total = all;
  };
  run_coverage_study(options);
  CHECK(done == 90 * 110);
  CHECK(total == 90 * 110);
  options.memory = 1000;
  CHECK_THROWS_WITH_AS(run_coverage_study(options), doctest::Contains("of the design near needs"), Error);
  options.memory = 0;
  options.level = 1;
  CHECK_THROWS_WITH_AS(run_coverage_study(options), doctest::Contains("between 0 and 1"), Error);
}

TEST_CASE("tally: intervals are compared with the normal one on logs that have both") {
  Tally tally;
  const Estimate none, normal = between(0, 1), wide = between(-1, 2);
  tally.add(normal, &normal, 1, {});
  tally.add(wide, &normal, 1, {});
  tally.add(wide, &none, 1, {});
  tally.add(none, &normal, 1, {});
  CHECK(tally.record().equals_normal == 0.5);
  CHECK(tally.record().relative_width == 2);
  CHECK(tally.record().median_width == 3);
  CHECK(tally.record().without == 0.25);
  Tally later;
  later.add(normal, &normal, 1, {});
  later.add(between(0, 2), &normal, 1, {});
  later.add(between(0, 2), &normal, 1, {});
  tally.merge(later);
  CHECK(tally.record().median_width == 2);  // of 1, 1, 2, 2, 3
  CHECK(tally.record().relative_width == doctest::Approx(9.0 / 5));
}

TEST_CASE("tally: a warning of the effective sample size is counted apart where it is the only one") {
  Tally tally;
  const Estimate normal = between(0, 1);
  Diagnostics small_ess, both, other;
  small_ess.small_ess = both.small_ess = true;
  small_ess.warnings = {"ESS"};
  both.warnings = {"ESS", "few rows decide"};
  other.warnings = {"few rows decide"};
  for (const Diagnostics& diagnostics : {Diagnostics{}, small_ess, both, other}) {
    Estimate estimate = normal;
    estimate.doubted = !diagnostics.warnings.empty();
    tally.add(estimate, &normal, 1, diagnostics);
  }
  CHECK(tally.record().warned == 0.75);
  CHECK(tally.record().warned_any == 0.75);
  CHECK(tally.record().warned_ess == 0.25);
}

TEST_CASE("tally: warnings about other estimates of the same log are counted apart") {
  Tally tally, later;
  Estimate doubted = between(0, 1);
  doubted.doubted = true;
  Diagnostics warned;
  warned.warnings = {"few rows decide"};
  tally.add(doubted, nullptr, 1, warned);
  tally.add(between(0, 1), nullptr, 1, warned);
  later.add(between(0, 1), nullptr, 1, warned);
  later.add(between(0, 1), nullptr, 1, {});
  tally.merge(later);
  CHECK(tally.record().warned == 0.25);
  CHECK(tally.record().warned_any == 0.75);
}

TEST_CASE("coverage: a policy that is the logged one differs by nothing for certain, however rare the outcomes") {
  const CoverageOptions options = study_of({"rare-logged-0.01"}, {IntervalKind::automatic}, {200}, 100);
  for (const CoverageRecord& record : run_coverage_study(options)) {
    CAPTURE(record.estimator);
    if (record.estimator.ends_with("-difference")) {
      CHECK(record.coverage == 1);
      CHECK(record.warned == 0);
    } else {
      CHECK(record.warned > 0.8);
    }
    CHECK(record.warned_any > 0.8);
  }
}

TEST_CASE("coverage: a kind that is normal in all but name is told, and one that differs anywhere is not") {
  CoverageArchive archive;
  const auto add = [&archive](const char* interval, double equals_normal) {
    CoverageRecord record;
    record.interval = interval;
    record.equals_normal = equals_normal;
    archive.records.push_back(record);
  };
  add("normal", 1);
  add("student", 0);
  add("auto", 1);
  add("auto", 0.99);
  add("sequence", 1);
  add("sequence", CoverageRecord::kNone);
  add("clopper-pearson", CoverageRecord::kNone);
  CHECK(normal_in_all_but_name(archive) == std::vector<std::string>{"sequence"});
}

TEST_CASE("tally: shares are those of the intervals, and of the logs") {
  Tally first, later;
  const Estimate none;
  Diagnostics silent, warning;
  warning.warnings = {"few rows decide"};
  Estimate doubted = between(0, 2);
  doubted.doubted = true;
  first.add(doubted, nullptr, 1, warning);
  first.add(between(0, 1), nullptr, 1, silent);
  later.add(between(2, 3), nullptr, 1, silent);
  later.add(between(-1, 0), nullptr, 1, silent);
  later.add(none, nullptr, 1, silent);
  later.add_refusal("why");
  later.add_refusal("and why");
  first.merge(later);
  const CoverageRecord record = first.record();
  CHECK(record.logs == 7);
  CHECK(record.coverage == 0.5);
  CHECK(record.below == 0.25);
  CHECK(record.above == 0.25);
  CHECK(record.coverage_error == 0.25);
  CHECK(record.warned == doctest::Approx(1 / 7.0));
  CHECK(record.without == doctest::Approx(3 / 7.0));
  CHECK(record.message == "why");
}
