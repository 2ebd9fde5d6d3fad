/// LearningRows: the rows that `learn` learns from, in memory where they fit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/shard_source.hpp"

namespace scrm {

struct LearningRowsOptions {
  std::vector<std::string> data;
  std::vector<std::string> logging_policies;  ///< given: rows are weighed against all of them together
  bool reward = false;
  bool skip_bad_rows = false;
};

class LearningRows {
 public:
  LearningRows(const LearningRowsOptions& options, const CommonOptions& common);

  Source& source() noexcept { return held_ ? static_cast<Source&>(*held_) : *files_; }
  const Schema& schema() const noexcept { return shards_.schema(); }
  /// Every pass reads the shards again.
  bool streamed() const noexcept { return held_ == nullptr; }
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  LearningRows(Dataset dataset, const LearningRowsOptions& options, const CommonOptions& common);
  void balance(const LearningRowsOptions& options, const CommonOptions& common);
  void hold(const LearningRowsOptions& options, const CommonOptions& common);

  std::uint64_t fingerprint_;
  ShardSource shards_;
  std::unique_ptr<Source> balanced_;
  Source* files_ = nullptr;
  std::unique_ptr<MemorySource> held_;
};

}  // namespace scrm
