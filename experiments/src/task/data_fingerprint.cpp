#include "task/data_fingerprint.hpp"

#include <algorithm>

#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/fingerprint.hpp"

namespace scrm {

std::uint64_t data_fingerprint(Dataset& dataset, const TaskOptions& task) {
  const std::int64_t rows = std::min<std::int64_t>(dataset.rows(), kBlockRows);
  task.ledger().charge(block_buffer_bytes(dataset.schema()) + dataset.fetch_bytes(rows), "reading this data",
                       "data with fewer features");
  return fingerprint(dataset);
}

}  // namespace scrm
