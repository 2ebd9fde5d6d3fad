#include "scrm/io/shard/schema.hpp"

namespace scrm {

std::vector<std::string> outside_datasets(const Schema& schema) {
  std::vector<std::string> names;
  for (const std::string& target : schema.targets) names.push_back("target/" + target);
  if (!schema.model) return names;
  const std::string model = "model/" + schema.model->name;
  names.push_back(model + "/logged");
  for (std::size_t t = 0; t < schema.targets.size(); ++t) {
    if (schema.model->targets[t]) names.push_back(model + "/target/" + schema.targets[t]);
  }
  return names;
}

std::string unnamed_columns_warning(const Schema& schema) {
  if (schema.unnamed_columns.empty()) return "";
  return schema.unnamed_columns +
         ": does not name its features (attribute context_columns) as other files do: they are taken in the order of "
         "those";
}

const char* to_string(ActionKind kind) noexcept {
  switch (kind) {
    case ActionKind::continuous:
      return "continuous";
    case ActionKind::categorical:
      return "categorical";
    case ActionKind::multilabel:
      return "multilabel";
  }
  return "unknown";
}

const char* to_string(Outcome outcome) noexcept {
  return outcome == Outcome::reward ? "reward" : "loss";
}

}  // namespace scrm
