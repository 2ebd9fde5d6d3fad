// labels: fast
#include "reproduce/paper_tables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "reproduce/paper_results.hpp"

using namespace scrm;

namespace {

RunRecord made_run(const std::string& environment, const std::string& method, std::int64_t seed,
                   std::vector<double> loss) {
  RunRecord run;
  run.environment = environment;
  run.method = method;
  run.lambda_rule = method == "crm" || method == "scrm" ? "given" : "";
  run.hyperparameter = 0.01;
  run.seed = seed;
  run.final_loss = loss.back();
  for (std::size_t m = 0; m < loss.size(); ++m) run.rows.push_back(100 * ((std::int64_t{2} << m) - 1));
  run.regret.assign(loss.size(), std::nan(""));
  run.loss = std::move(loss);
  return run;
}

std::vector<std::string> row_of(const ReportTable& table, const std::string& first, const std::string& second = "") {
  for (const auto& row : table.rows) {
    if (row[0].text != first || (!second.empty() && row[1].text != second)) continue;
    std::vector<std::string> texts;
    for (const ReportCell& cell : row) texts.push_back(cell.text);
    return texts;
  }
  return {};
}

}  // namespace

TEST_CASE("table 3: ours beside the paper's, and the difference in standard errors of both") {
  PaperArchives archives;
  ResultArchive archive;
  // Mean -5.4, sd 0.1 over two seeds: the paper has -5.575 ± 0.036 over ten.
  const double half = 0.1 / std::sqrt(2);
  archive.runs = {made_run("pricing", "scrm", 0, {-5.4 - half}), made_run("pricing", "scrm", 1, {-5.4 + half}),
                  made_run("pricing", "bkucb", 0, {-5}), made_run("pricing", "own", 0, {-4})};
  archives.add("continuous", std::move(archive));
  ReproduceOptions options;
  options.protocols = {"paper"};
  const std::vector<ReportTable> tables = loss_tables(archives, options);
  REQUIRE(tables.size() == 1);  // nothing was run elsewhere
  const double distance = 0.175 / std::sqrt(0.1 * 0.1 / 2 + 0.036 * 0.036 / 10);
  CHECK(row_of(tables[0], "scrm") == std::vector<std::string>{"scrm", "−5.575 ± 0.036", "−5.400 ± 0.100 [λ = 0.01]",
                                                              "+" + std::to_string(distance).substr(0, 3)});
  CHECK(row_of(tables[0], "bkucb")[1] == "did not finish");
  CHECK(row_of(tables[0], "own") == std::vector<std::string>{"own", "—", "−4.000", "—"});
  CHECK(tables[0].rows.back()[0].text == "own");  // what the paper does not have comes last
}

TEST_CASE("table 1: the rollout at which the mean over seeds gets below p times the best loss") {
  PaperArchives archives;
  ResultArchive published, paper;
  // Means: -0.5, -0.75, -0.95.
  for (const double shift : {-0.01, 0.01}) {
    published.runs.push_back(made_run("gaussian", "scrm", shift > 0, {-0.5 + shift, -0.75 + shift, -0.95 + shift}));
    paper.runs.push_back(made_run("gaussian", "scrm", shift > 0, {-0.5 + shift, -0.69 + shift, -0.80 + shift}));
  }
  archives.add("gaussian-published", std::move(published));
  archives.add("gaussian-paper", std::move(paper));
  const ReportTable table = rows_table(archives, {});
  const std::vector<std::string> seven = row_of(table, "scrm", "0.7"), nine = row_of(table, "scrm", "0.9");
  CHECK(seven == std::vector<std::string>{"scrm", "0.7", "100·2^8", "100·2^2", "100·2^2"});
  CHECK(nine == std::vector<std::string>{"scrm", "0.9", "100·2^11", "100·2^3", "> 100·2^3"});
  CHECK(row_of(table, "crm", "0.9") == std::vector<std::string>{"crm", "0.9", "> 100·2^22", "—", "—"});
}

TEST_CASE("table 2: hindsight and auto stand beside the paper's") {
  PaperArchives archives;
  ResultArchive archive;
  archive.runs = {made_run("pricing", "scrm", 0, {-5.5}), made_run("pricing", "scrm", 0, {-5.45})};
  archive.runs[1].lambda_rule = "auto";
  archive.runs[1].hyperparameter = std::nan("");
  archives.add("continuous", std::move(archive));
  ReproduceOptions options;
  options.protocols = {"published"};
  const ReportTable table = lambda_table(archives, options);
  CHECK(row_of(table, "pricing", "hindsight")[3] == "−5.500 [λ = 0.01]");
  CHECK(row_of(table, "pricing", "auto")[3] == "−5.450");
  CHECK(row_of(table, "pricing", "auto")[2] == "−5.575 ± 0.036");
}

TEST_CASE("paper results: numbers that the text quotes are there, and others are not") {
  CHECK(paper_loss("yeast", "scrm")->mean == 0.294);
  CHECK(!paper_loss("tmc2007", "sbpe"));
  CHECK(paper_did_not_finish("tmc2007", "sbpe"));
  CHECK(!paper_loss("scene", "majority"));
  CHECK(!paper_lambda("scene", true));
  CHECK(paper_rows("crm", 0.9)->more);
}
