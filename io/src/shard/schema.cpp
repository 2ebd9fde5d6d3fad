#include "scrm/io/shard/schema.hpp"

namespace scrm {

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
