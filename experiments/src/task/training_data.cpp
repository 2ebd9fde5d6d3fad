#include "task/training_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/terminal.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr const char* kGiveItsData = "give --holdout-of the data of its `scrm learn`";
constexpr const char* kOtherValues =
    "was learned from rows that begin as these do, but whose losses or propensities are others: give --holdout-of the "
    "data of its `scrm learn`";
constexpr const char* kGiveItsOrder =
    "which rows were held out goes by their numbers: give --holdout-of the files in the order of its `scrm learn`";

/// The names of the first few files.
std::string listed(const std::vector<std::string>& paths) {
  constexpr std::size_t kListed = 3;
  if (paths.size() <= kListed) return fmt::format("{}", fmt::join(paths, ", "));
  return fmt::format("{} and {} more", fmt::join(paths.begin(), paths.begin() + kListed, ", "),
                     count_of(paths.size() - kListed, "file"));
}

std::string rows_and_files(std::int64_t rows, std::size_t files) {
  return fmt::format("{} in {}", counted(rows, "row"), count_of(files, "file"));
}

}  // namespace

TrainingData::TrainingData(RowFingerprints& rows, std::uint64_t begins)
    : rows_(rows), dataset_(rows.dataset()), begins_(begins) {}

/// Which of the files are others than those of the training.
std::string TrainingData::other_rows(const Training& training, const KnownRows& known) const {
  const std::vector<Shard>& shards = dataset_.shards();
  std::string which;
  for (std::size_t t = 0; t < known.found.size() && which.empty(); ++t) {
    const std::int64_t rows = training.shards[t].rows;
    if (rows > 0 && !known.found[t])
      which = fmt::format(": its file number {}, of {}, is not among them", t + 1, counted(rows, "row"));
  }
  const auto stranger = std::find_if(shards.begin(), shards.end(), [&](const Shard& shard) {
    return shard.rows > 0 && known.per_shard[static_cast<std::size_t>(&shard - shards.data())] == 0;
  });
  if (stranger != shards.end() && !stranger->path.empty())
    which = fmt::format(": {} is none of its files", stranger->path);
  return fmt::format("was learned from {}, and these are others ({}){}; {}",
                     rows_and_files(training.rows, training.shards.size()),
                     rows_and_files(dataset_.rows(), shards.size()), which, kGiveItsData);
}

std::string TrainingData::holdout_refusal(const Policy& policy) {
  const std::string refusal = refusal_by_first_rows(policy);
  if (!refusal.empty() || !policy.training->sample || *policy.training->sample == rows_.sample()) return refusal;
  if (!policy.training->shards.empty()) return kOtherValues;
  return fmt::format("was learned from as many rows that begin alike, but not from these in this order, and {}",
                     kGiveItsOrder);
}

std::string TrainingData::refusal_by_first_rows(const Policy& policy) {
  if (!policy.training) return "does not say which rows it was learned from: only files that `scrm learn` wrote do";
  const Training& training = *policy.training;
  if (!training.shards.empty()) {
    const KnownRows known = find_known_rows(rows_, training.shards);
    if (known.reordered) {
      const std::vector<Shard>& shards = dataset_.shards();
      const auto first = std::find_if(shards.begin(), shards.end(), [&](const Shard& shard) {
        return TrainingShard{shard.rows, rows_.of(shard.first_row, shard.rows)} == training.shards.front();
      });
      return fmt::format("was learned from these files in another order{}, and {}",
                         first->path.empty() ? "" : fmt::format(" (the first was {})", first->path), kGiveItsOrder);
    }
    if (!known.in_place) return other_rows(training, known);
    if (training.begins != begins_) return kOtherValues;
  }
  if (training.begins != begins_ || training.rows != dataset_.rows()) {
    return fmt::format("was learned from {}, and these are others ({}): {}", counted(training.rows, "row"),
                       counted(dataset_.rows(), "row"), kGiveItsData);
  }
  if (training.holdout == 0) return "was learned from all of these rows: none were held out";
  if (training.by_cluster && !dataset_.schema().cluster)
    return "was learned with whole clusters held out, and these rows have no dataset `cluster`";
  return "";
}

/// Which of a policy's training rows these are, in words: "these rows", "3,000 of these 9,000 rows (january.h5)"; empty
/// where none are known.
std::string TrainingData::known_rows_text(const Training& training, const KnownRows& known) const {
  if (training.shards.empty()) {  // of before: all that it knows is how its rows begin
    if (training.begins != begins_) return "";
    return training.rows == dataset_.rows() ? "these rows" : "the first of these rows";
  }
  if (known.rows == 0) return "";
  if (known.rows == dataset_.rows()) return "these rows";
  std::vector<std::string> paths;
  for (std::size_t s = 0; s < known.per_shard.size(); ++s) {
    const std::string& path = dataset_.shards()[s].path;
    if (known.per_shard[s] > 0 && !path.empty()) paths.push_back(path);
  }
  return fmt::format("{} of these {}{}", with_commas(known.rows), counted(dataset_.rows(), "row"),
                     paths.empty() ? "" : fmt::format(" ({})", listed(paths)));
}

std::string TrainingData::warning(const PolicyFile& file) {
  const std::optional<Training>& training = file.policy.training;
  if (!training || dataset_.rows() == 0) return "";
  const KnownRows known = find_known_rows(rows_, training->shards);
  const std::string which = known_rows_text(*training, known);
  if (which.empty()) return "";
  std::string advice = "judge it on other rows";
  if (known.reordered && training->holdout > 0) {
    advice = fmt::format(
        "--holdout-of {}, given the files in the order of its `scrm learn`, judges it on those that were held out",
        shell_word(file.name));
  } else if (training->shards.empty() ? holdout_refusal(file.policy).empty()
                                      : refusal_by_first_rows(file.policy).empty()) {
    advice = fmt::format("--holdout-of {} judges it on those that were held out", shell_word(file.name));
  }
  return fmt::format("it was learned from {}, and its estimate on them is an optimist's; {}", which, advice);
}

}  // namespace scrm
