/// fingerprint: tells the rows of one data set from those of another by some of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "scrm/io/shard/dataset.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// A hash of the losses and propensities of the first block of rows; the same whichever way the rows are split into
/// shards or compressed.
std::uint64_t fingerprint(Dataset& dataset);

/// Hashes of whole rows wherever they lie in a data set: contexts, actions and losses, the same in whatever order
/// columns come and whatever files hold the rows. Each is read once; the data set must outlive it.
class RowFingerprints {
 public:
  /// Few rows tell a file from others, since data may have thousands of files; whole rows, since outcomes and
  /// propensities alone may be those of another day as well.
  static constexpr std::int64_t kRows = 64;

  explicit RowFingerprints(Dataset& dataset);

  Dataset& dataset() const noexcept { return dataset_; }
  /// Of rows [first, first + rows), of which at most the first kRows are read.
  std::uint64_t of(std::int64_t first, std::int64_t rows);
  /// Of each shard by itself.
  std::vector<TrainingShard> of_shards();
  /// Of losses and propensities alone, of 64 rows that are spread evenly over all. Which rows are held out goes by
  /// their numbers: this notices rows that come in another order.
  std::uint64_t sample();

 private:
  BlockBuffer& buffer();

  Dataset& dataset_;
  std::optional<BlockBuffer> buffer_;  ///< made for the first rows that are read
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> known_;
  std::optional<std::uint64_t> sample_;
};

}  // namespace scrm
