/// StudyDesign: a way to draw logs for which the value of the target policy is known in closed form.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {

inline constexpr int kStudyLabels = 16;

/// One row as a design draws it: of the actions, the one that fits the design's kind.
struct DrawnRow {
  const double* context = nullptr;  ///< of designs with features; valid as long as the design is
  double action = 0;
  int category = 0;
  std::array<std::uint8_t, kStudyLabels> bits{};
  double loss = 0;
  double propensity = 1;  ///< as the log records it
  std::array<double, kStudyLabels> label_propensity{};
  double target = 1;  ///< probability or density of the action under the target policy
  std::int64_t cluster = 0;
  double shared = 0;  ///< what the rows of a cluster have in common: a row begins as the one before it ended
  std::int64_t cluster_left = 0;  ///< rows of the cluster that are still to come, where its size is drawn
};

/// Who acts: the policy that logs, or, to see what it is worth, the target policy itself.
enum class Actor { logging, target };

struct StudyDesign {
  std::string name, description;
  ActionKind action_kind = ActionKind::categorical;
  int num_actions = 0;
  std::int64_t features = 0;
  std::vector<std::int64_t> rows = {50, 200, 1'000, 10'000};  ///< of the logs, unless others are asked for
  std::vector<std::string> estimators = {"ips", "snips"};

  double value = 0;        ///< expected loss of the target policy
  double logged_mean = 0;  ///< expected loss of the policy that logs
  std::optional<OutcomeRange> outcome_range = {};
  std::optional<double> max_weight = {};
  /// False: propensities are recorded wrongly. No interval can hold then, and what is wanted is a warning.
  bool right_propensities = true;
  bool clustered = false;  ///< rows with the same DrawnRow::cluster depend on each other

  std::optional<Policy> policy = {};  ///< the target; none: it is in the column target/policy
  std::function<void(RandomStream&, std::int64_t row, Actor, DrawnRow&)> draw = {};
};

/// The designs of a study unless others are named, in the order people should read them.
const std::vector<StudyDesign>& study_designs();

/// Those of make_further_designs(): more of each kind, on which the rule of the default interval was found.
const std::vector<StudyDesign>& further_study_designs();

/// Those of make_later_designs(): unlike the others, and drawn up after that rule was found.
const std::vector<StudyDesign>& later_study_designs();

/// Those of make_unseen_designs(): what the rule was tried on once, when it was fixed.
const std::vector<StudyDesign>& unseen_study_designs();

/// All of them, in that order.
std::vector<const std::vector<StudyDesign>*> all_study_designs();

/// The design of that name; a usage Error says which there are.
const StudyDesign& find_study_design(const std::string& name);

/// A log and the policy to evaluate on it.
struct DrawnLog {
  MemorySource source;
  NamedPolicy policy;
};

/// Which log: the same key gives the same rows on any thread, in any order.
struct LogKey {
  std::uint64_t seed = 0;
  std::int64_t rows = 0;
  std::int64_t log = 0;
};

DrawnLog draw_log(const StudyDesign& design, const LogKey& key);

/// A number for the bootstrap of this log, independent of its rows.
std::uint64_t bootstrap_seed(const StudyDesign& design, const LogKey& key);

/// Bytes that a log of so many rows holds.
std::size_t log_bytes(const StudyDesign& design, std::int64_t rows);

/// What the evaluation of a log holds beside its rows: sums, scratch, a report.
inline constexpr std::size_t kEvaluationBytes = std::size_t{1} << 20;

}  // namespace scrm
