#include "text/class_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "scrm/io/file/numbers.hpp"

namespace scrm {

void ClassNames::append(std::string_view text, LabelledData& data) {
  const auto next = static_cast<std::int32_t>(names_.size());
  const std::optional<double> number = parse_double(text);
  // Without the sign that "-0" would show.
  std::string name = number && std::isfinite(*number) ? fmt::format("{}", *number + 0.0) : std::string(text);
  const auto [at, added] = numbers_.emplace(std::move(name), next);
  if (added) names_.push_back(at->first);
  data.category.push_back(at->second);
}

void ClassNames::finish(LabelledData& data) const {
  const auto key = [this](std::int32_t number) {
    const std::string& name = names_[static_cast<std::size_t>(number)];
    const std::optional<double> value = parse_double(name);
    const bool finite = value && std::isfinite(*value);
    return std::pair(finite ? *value : std::numeric_limits<double>::infinity(), name);
  };
  std::vector<std::int32_t> order(names_.size()), rank(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  data.multiclass = true;
  data.labels = static_cast<int>(names_.size());
  data.label_names.clear();
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    data.label_names.push_back(names_[static_cast<std::size_t>(order[i])]);
  }
  for (std::int32_t& category : data.category) category = rank[static_cast<std::size_t>(category)];
}

}  // namespace scrm
