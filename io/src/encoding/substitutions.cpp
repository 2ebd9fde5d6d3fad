#include "encoding/substitutions.hpp"

#include <fmt/format.h>

#include <utility>

#include "file/text.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

void Substitutions::merge(Substitutions later) {
  if (other_levels == 0) first_other = std::move(later.first_other);
  holes += later.holes;
  other_levels += later.other_levels;
}

Substitutions total(const std::vector<Substitutions>& columns) {
  Substitutions sum;
  for (const Substitutions& column : columns) sum.merge(column);
  return sum;
}

std::vector<std::string> substitution_warnings(const Encoding& encoding, const std::vector<Substitutions>& columns,
                                               std::int64_t rows) {
  std::vector<std::string> warnings;
  for (std::size_t c = 0; c < columns.size() && rows > 0; ++c) {
    const EncodedColumn& column = encoding.columns[c];
    const Substitutions& counts = columns[c];
    if (2 * counts.other_levels > rows)
      warnings.push_back(
          fmt::format("column '{0}': {1} of {2} became {0}=other, since the encoding does not have their values, such "
                      "as '{3}'; {4}",
                      column.name, counts.other_levels, count_of(rows, "row"), excerpt(counts.first_other),
                      column.levels.empty() ? "it has none" : suggestion(counts.first_other, column.levels)));
    if (counts.holes == rows)
      warnings.push_back(
          fmt::format("column '{}' has no value in any row: what stands for it is the same everywhere and tells "
                      "nothing; is it the right column?",
                      column.name));
  }
  return warnings;
}

}  // namespace scrm
