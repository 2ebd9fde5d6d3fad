#include "task/learning/learning_rows.hpp"

#include <fmt/format.h>

#include "scrm/engine/pass/balance_heuristic_source.hpp"
#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/io/shard/known_rows.hpp"
#include "task/data_fingerprint.hpp"
#include "task/logging_policies.hpp"

namespace scrm {
namespace {

// The share of the budget that rows may take; the rest is for passes and gradients.
constexpr double kRowsShare = 0.7;

LearningRows::Fingerprints take_fingerprints(Dataset& dataset, const TaskOptions& task) {
  LearningRows::Fingerprints out;
  out.begins = data_fingerprint(dataset, task);
  RowFingerprints rows(dataset);
  out.sample = rows.sample();
  out.shards = rows.of_shards();
  out.copies = copied_rows_warnings(rows);
  return out;
}

}  // namespace

LearningRows::LearningRows(Dataset dataset, const std::vector<PolicyFile>& logging, const MakeFourier& fourier,
                           bool skip_bad_rows, const TaskOptions& task)
    : fingerprints_(take_fingerprints(dataset, task)), shards_(std::move(dataset)), files_(&shards_) {
  if (!logging.empty()) balance(logging, task);
  if (fourier) expand(fourier, task);
  hold(skip_bad_rows, task);
}

void LearningRows::balance(const std::vector<PolicyFile>& logging, const TaskOptions& task) {
  const Dataset& dataset = shards_.dataset();
  auto policies = prepare_logging_policies(logging, dataset, task);
  std::vector<double> shares;
  for (const int rollout : dataset.rollouts()) {
    double rows = 0;
    for (const Shard& shard : dataset.shards()) rows += shard.rollout == rollout ? static_cast<double>(shard.rows) : 0;
    shares.push_back(rows / static_cast<double>(dataset.rows()));
  }
  balanced_ = std::make_unique<BalanceHeuristicSource>(shards_, std::move(policies), std::move(shares));
  files_ = balanced_.get();
}

void LearningRows::expand(const MakeFourier& fourier, const TaskOptions& task) {
  fourier_ = fourier(*files_);
  task.ledger().charge(FourierTransform::bytes(fourier_->width, schema().features),
                       fmt::format("{} fourier features", fourier_->width), "a smaller --width");
  expanded_ = std::make_unique<FourierSource>(*files_, *fourier_);
  files_ = expanded_.get();
}

void LearningRows::hold(bool skip_bad_rows, const TaskOptions& task) {
  double bytes = static_cast<double>(files_->blocks()) * static_cast<double>(block_buffer_bytes(files_->schema()));
  // Entries of sparse rows are not in that number; the files are a fair guess at their size.
  for (const Shard& shard : shards_.dataset().shards())
    bytes += schema().sparse ? 2 * static_cast<double>(shard.bytes) : 0;
  if (task.ranks != nullptr) bytes /= task.ranks->size();  // each holds its share
  const std::size_t left = task.ledger().left();
  if (bytes > kRowsShare * static_cast<double>(left)) {
    const double held = static_cast<double>(task.memory) - static_cast<double>(left);
    task.warning(
        fmt::format("holding the rows would take a budget of {}, so they are read from the shards for every pass",
                    human_bytes(held + bytes / kRowsShare)));
    return;
  }
  MemoryLedger ledger(left);
  ledger.charge(static_cast<std::size_t>(bytes), "holding the rows");
  PassOptions reading = task.pass("reading");
  reading.memory = ledger.left();
  held_ = std::make_unique<MemorySource>(*files_, reading, skip_bad_rows);
}

}  // namespace scrm
