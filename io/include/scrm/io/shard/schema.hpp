/// Schema: what the rows of a data set hold, common to all its shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// How the propensity of the logged action is stored.
enum class PropensityForm : std::uint8_t {
  linear,        ///< dataset `propensity`
  logarithm,     ///< dataset `log_propensity`
  label_product  ///< multilabel without either: the product of `label_propensity`
};

/// Which columns a row has: contexts alone, with actions and propensities, or with losses too.
enum class RowStage : std::uint8_t {
  contexts,  ///< the context alone
  acted,     ///< action and propensity too
  logged     ///< and the loss
};

/// What the dataset `loss` holds as it is stored. Readers turn rewards into losses once; results are shown as rewards.
enum class Outcome : std::uint8_t {
  loss,   ///< smaller is better
  reward  ///< larger is better
};

/// An outside model's predictions among the columns of the data.
struct ModelColumns {
  std::string name;
  std::vector<bool> targets;  ///< for which of Schema::targets there is the expectation over its actions
};

struct Schema {
  ActionKind action_kind = ActionKind::continuous;
  int num_actions = 0;  ///< categories (categorical) or labels K (multilabel)
  std::int64_t features = 0;
  bool sparse = false;
  FloatType context_type = FloatType::f64;  ///< f32 only when every shard's context is; sparse values are always f64
  PropensityForm propensity = PropensityForm::linear;
  bool label_propensity = false;
  std::vector<std::string> targets;   ///< names under target/, in alphabetical order
  std::optional<ModelColumns> model;  ///< unset: none is read
  bool cluster = false;               ///< rows say, by a number, which of them are not independent of each other
  RowStage stage = RowStage::logged;
  std::optional<Outcome> outcome;            ///< unset: the data does not say, which is read as a loss
  std::vector<std::string> context_columns;  ///< names of the features, in order; empty: not named
  std::string unnamed_columns;  ///< where others name them: the first file that does not, taken in their order
  std::vector<std::string> action_names;  ///< names of the categories or labels, in order; empty: not named
  int replays = 1;                        ///< consecutive rows that share one context, see Block; divides kBlockRows
};

/// The datasets that follow the others of a shard, a column each: the targets, then those of the model, what it
/// predicts for the logged actions first.
std::vector<std::string> outside_datasets(const Schema& schema);

/// That some of the files are matched by the order of their columns alone; empty where they are not.
std::string unnamed_columns_warning(const Schema& schema);

/// "continuous", "categorical" or "multilabel", as the attribute action_kind spells them.
const char* to_string(ActionKind kind) noexcept;

/// "loss" or "reward", as the attribute outcome spells them.
const char* to_string(Outcome outcome) noexcept;

}  // namespace scrm
