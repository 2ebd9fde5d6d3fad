/// TrainingData: which rows of a data set policies were learned from, and what is to be said about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scrm/io/shard/known_rows.hpp"
#include "task/task_options.hpp"

namespace scrm {

/// Reads a few rows of the data set, which must outlive it.
class TrainingData {
 public:
  /// `begins` is the fingerprint of the data's first rows.
  TrainingData(RowFingerprints& rows, std::uint64_t begins);

  /// Why this data cannot tell which rows learning the policy did not see; empty where it can.
  std::string holdout_refusal(const Policy& policy);

  /// What is to be said where a policy is judged on rows it was learned from; empty where it is not.
  std::string warning(const PolicyFile& file);

 private:
  /// The same without rows from all over the data, which take long to read where files are compressed.
  std::string refusal_by_first_rows(const Policy& policy);
  std::string other_rows(const Training& training, const KnownRows& known) const;
  std::string known_rows_text(const Training& training, const KnownRows& known) const;

  RowFingerprints& rows_;
  Dataset& dataset_;
  std::uint64_t begins_;
};

}  // namespace scrm
