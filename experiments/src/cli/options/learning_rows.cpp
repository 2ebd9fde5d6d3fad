#include "cli/options/learning_rows.hpp"

#include <fmt/format.h>

#include "cli/options/logging_policies.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/pass/balance_heuristic_source.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/shard/fingerprint.hpp"

namespace scrm {
namespace {

// The share of the budget that rows may take; the rest is for passes and gradients.
constexpr double kRowsShare = 0.7;

Dataset open(const LearningRowsOptions& options) {
  ReadOptions read;
  read.reward = options.reward;
  read.cluster = true;  // for the error of the held-out estimate
  return Dataset(options.data, read);
}

}  // namespace

LearningRows::LearningRows(const LearningRowsOptions& options, const CommonOptions& common)
    : LearningRows(open(options), options, common) {}

LearningRows::LearningRows(Dataset dataset, const LearningRowsOptions& options, const CommonOptions& common)
    : fingerprint_(scrm::fingerprint(dataset)), shards_(std::move(dataset)), files_(&shards_) {
  if (!options.logging_policies.empty()) balance(options, common);
  hold(options, common);
}

void LearningRows::balance(const LearningRowsOptions& options, const CommonOptions& common) {
  const Dataset& dataset = shards_.dataset();
  auto policies = load_logging_policies(options.logging_policies, dataset, common);
  std::vector<double> shares;
  for (const int rollout : dataset.rollouts()) {
    double rows = 0;
    for (const Shard& shard : dataset.shards()) rows += shard.rollout == rollout ? static_cast<double>(shard.rows) : 0;
    shares.push_back(rows / static_cast<double>(dataset.rows()));
  }
  balanced_ = std::make_unique<BalanceHeuristicSource>(shards_, std::move(policies), std::move(shares));
  files_ = balanced_.get();
}

void LearningRows::hold(const LearningRowsOptions& options, const CommonOptions& common) {
  double bytes = static_cast<double>(files_->blocks()) * static_cast<double>(block_buffer_bytes(schema()));
  // Entries of sparse rows are not in that number; the files are a fair guess at their size.
  for (const Shard& shard : shards_.dataset().shards())
    bytes += schema().sparse ? 2 * static_cast<double>(shard.bytes) : 0;
  if (common.ranks != nullptr) bytes /= common.ranks->size();  // each holds its share
  const std::size_t left = common.memory_left();
  if (bytes > kRowsShare * static_cast<double>(left)) {
    const double held = static_cast<double>(common.memory) - static_cast<double>(left);
    print_warning(
        fmt::format("holding the rows would take a budget of {}, so they are read from the shards for every pass",
                    human_bytes(held + bytes / kRowsShare)),
        common.quiet);
    return;
  }
  MemoryLedger ledger(left);
  ledger.charge(static_cast<std::size_t>(bytes), "holding the rows");
  PassOptions reading = common.pass("reading");
  reading.memory = ledger.left();
  held_ = std::make_unique<MemorySource>(*files_, reading, options.skip_bad_rows);
}

}  // namespace scrm
