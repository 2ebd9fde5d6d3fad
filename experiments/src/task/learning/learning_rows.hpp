/// LearningRows: the rows that `learn` learns from, in memory where they fit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "task/task_options.hpp"

namespace scrm {

class LearningRows {
 public:
  /// `logging`, where given: rows are weighed against all of these policies together.
  /// `fourier`, where given, makes the map of Fourier features from the rows that are read: contexts are then followed
  /// by them.
  using MakeFourier = std::function<FourierFeatures(Source&)>;
  LearningRows(Dataset dataset, const std::vector<PolicyFile>& logging, const MakeFourier& fourier, bool skip_bad_rows,
               const TaskOptions& task);

  Source& source() noexcept { return held_ ? static_cast<Source&>(*held_) : *files_; }
  /// Of the data, without Fourier features.
  const Schema& schema() const noexcept { return shards_.schema(); }
  const Dataset& dataset() const noexcept { return shards_.dataset(); }
  const std::optional<FourierFeatures>& fourier() const noexcept { return fourier_; }
  /// Every pass reads the shards again.
  bool streamed() const noexcept { return held_ == nullptr; }
  /// What is known again of the files, taken before anything else is read of them.
  struct Fingerprints {
    std::uint64_t begins = 0, sample = 0;
    std::vector<TrainingShard> shards;
    std::vector<std::string> copies;  ///< warnings of files that hold the same rows
  };
  const Fingerprints& fingerprints() const noexcept { return fingerprints_; }

 private:
  void balance(const std::vector<PolicyFile>& logging, const TaskOptions& task);
  void expand(const MakeFourier& fourier, const TaskOptions& task);
  void hold(bool skip_bad_rows, const TaskOptions& task);

  Fingerprints fingerprints_;
  ShardSource shards_;
  std::unique_ptr<Source> balanced_, expanded_;
  std::optional<FourierFeatures> fourier_;
  Source* files_ = nullptr;
  std::unique_ptr<MemorySource> held_;
};

}  // namespace scrm
