#include "shard/column_order.hpp"

#include <unordered_map>

namespace scrm {

std::shared_ptr<const ColumnOrder> column_order(const std::vector<std::string>& names,
                                                const std::vector<std::string>& wanted) {
  if (names == wanted) return nullptr;
  std::unordered_map<std::string, std::int32_t> place;
  for (std::size_t j = 0; j < wanted.size(); ++j) place.emplace(wanted[j], static_cast<std::int32_t>(j));
  auto order = std::make_shared<ColumnOrder>();
  for (const std::string& name : names) order->to.push_back(place.at(name));
  // Each swap brings one column home, so there is an end.
  std::vector<std::int32_t> here = order->to;
  for (std::size_t j = 0; j < here.size(); ++j) {
    while (here[j] != static_cast<std::int32_t>(j)) {
      const auto home = static_cast<std::size_t>(here[j]);
      order->swaps.emplace_back(static_cast<std::int64_t>(j), static_cast<std::int64_t>(home));
      std::swap(here[j], here[home]);
    }
  }
  return order;
}

}  // namespace scrm
