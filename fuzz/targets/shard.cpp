// A shard: its header, and as many of its rows as a small file can hold, decoded block by block.
#include <algorithm>

#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  constexpr std::int64_t kMostRows = 1 << 20;
  constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
  const std::string file = fuzzing::write_file("in.h5", fuzzing::text_of(data, size));
  fuzzing::read_or_refused([&] {
    ReadOptions options;
    options.all_targets = true;
    options.cluster = true;
    Dataset shards({file}, options);
    if (block_buffer_bytes(shards.schema()) > kMostBytes) return;
    BlockBuffer block(shards.schema());
    Audit audit;
    const std::int64_t rows = std::min(shards.rows(), kMostRows);
    for (std::int64_t first = 0; first < rows; first += kBlockRows) {
      if (shards.fetch_bytes(kBlockRows) > kMostBytes) return;
      const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows - first));
      const auto raw = shards.fetch(first, count);
      const int left = raw->decode(first, count, block, audit);
      fuzzing::require(left >= 0 && left <= count, "no more rows are decoded than were fetched");
    }
  });
  return 0;
}
