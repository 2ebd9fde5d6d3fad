/// ColumnOrder: where the columns of a shard belong in the data set, matched by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace scrm {

struct ColumnOrder {
  std::vector<std::int32_t> to;  ///< the data set's column of each of the shard's
  std::vector<std::pair<std::int64_t, std::int64_t>>
      swaps;  ///< of two columns, one after the other, that bring them there
};

/// Null when they are in order already. `names` must be those of `wanted`, in any order; throws std::out_of_range else.
std::shared_ptr<const ColumnOrder> column_order(const std::vector<std::string>& names,
                                                const std::vector<std::string>& wanted);

}  // namespace scrm
