#include "scrm/io/shard/known_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kRows = RowFingerprints::kRows;

/// Walks over a data set from file to file and looks for the training's shards at the start of each, and behind each
/// that was found.
class KnownRowsSearch {
 public:
  KnownRowsSearch(RowFingerprints& rows, std::span<const TrainingShard> training)
      : rows_(rows), shards_(rows.dataset().shards()), training_(training) {
    for (std::size_t t = 0; t < training.size(); ++t) {
      if (training[t].rows > 0) by_length_[std::min(training[t].rows, kRows)].emplace(training[t].begins, t);
    }
  }

  KnownRows find() {
    out_.in_place = is_in_place();
    if (out_.in_place) {
      for (const Shard& shard : shards_) out_.per_shard.push_back(shard.rows);
      out_.found.assign(training_.size(), true);
      out_.rows = rows_.dataset().rows();
      return std::move(out_);
    }
    out_.per_shard.resize(shards_.size());
    out_.found.resize(training_.size());
    std::int64_t known_to = 0;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      // A match in the shard before may reach into this one.
      const std::vector<Match> matches = matches_from(std::max(shards_[s].first_row, known_to), s);
      for (const Match& match : matches) add(match, s);
      if (!matches.empty()) known_to = matches.back().end;
    }
    out_.reordered = is_reordered();
    return std::move(out_);
  }

 private:
  /// A shard of the training, and where in the data set its rows are.
  struct Match {
    std::size_t training;
    std::int64_t first, end;
  };

  std::int64_t end_of(std::size_t s) const { return shards_[s].first_row + shards_[s].rows; }

  /// The training's shard that begins at this row of shard `s`; of several, one that is as long as what is left of it.
  std::optional<std::size_t> match_at(std::int64_t at, std::size_t s) {
    std::optional<std::size_t> match;
    for (const auto& [length, begins] : by_length_) {
      if (at + length > rows_.dataset().rows()) break;
      const auto [from, to] = begins.equal_range(rows_.of(at, length));
      for (auto one = from; one != to; ++one) {
        if (!match || training_[one->second].rows == end_of(s) - at) match = one->second;
      }
    }
    return match;
  }

  /// What begins at row `at` of shard `s`, and behind it; none where it is too little not to be alike by chance.
  std::vector<Match> matches_from(std::int64_t at, std::size_t s) {
    std::vector<Match> matches;
    std::int64_t compared = 0;
    while (at < end_of(s)) {
      const std::optional<std::size_t> match = match_at(at, s);
      if (!match) break;
      const std::int64_t rows = training_[*match].rows;
      const bool whole_shard = at == shards_[s].first_row && rows == shards_[s].rows;
      compared += whole_shard ? kRows : std::min(rows, kRows);
      matches.push_back({*match, at, end_of_match(at, rows, s)});
      at = matches.back().end;
    }
    if (compared < kRows) matches.clear();
    return matches;
  }

  /// A file may have been split: its rows end where a later shard does. Otherwise it was cut.
  std::int64_t end_of_match(std::int64_t at, std::int64_t rows, std::size_t s) const {
    if (rows > rows_.dataset().rows() - at) return end_of(s);
    const std::int64_t end = at + rows;
    if (end <= end_of(s)) return end;
    const auto later = std::lower_bound(shards_.begin(), shards_.end(), end, [](const Shard& shard, std::int64_t row) {
      return shard.first_row + shard.rows < row;
    });
    return later != shards_.end() && later->first_row + later->rows == end ? end : end_of(s);
  }

  void add(const Match& match, std::size_t s) {
    out_.found[match.training] = true;
    out_.rows += match.end - match.first;
    for (; s < shards_.size() && shards_[s].first_row < match.end; ++s)
      out_.per_shard[s] += std::min(match.end, end_of(s)) - std::max(match.first, shards_[s].first_row);
  }

  bool is_in_place() {
    std::int64_t at = 0;
    for (const TrainingShard& shard : training_) {
      if (shard.rows > rows_.dataset().rows() - at || rows_.of(at, shard.rows) != shard.begins) return false;
      at += shard.rows;
    }
    return at == rows_.dataset().rows();
  }

  bool is_reordered() {
    if (out_.rows != rows_.dataset().rows() || shards_.size() != training_.size()) return false;
    std::vector<TrainingShard> here = rows_.of_shards(), there(training_.begin(), training_.end());
    const auto before = [](const TrainingShard& a, const TrainingShard& b) {
      return std::pair(a.rows, a.begins) < std::pair(b.rows, b.begins);
    };
    std::sort(here.begin(), here.end(), before);
    std::sort(there.begin(), there.end(), before);
    return here == there;
  }

  RowFingerprints& rows_;
  const std::vector<Shard>& shards_;
  std::span<const TrainingShard> training_;
  std::map<std::int64_t, std::multimap<std::uint64_t, std::size_t>> by_length_;  ///< by how many rows are compared
  KnownRows out_;
};

/// Groups of at least two.
template <class Key>
std::vector<std::vector<const Shard*>> alike(const std::vector<const Shard*>& shards, Key key) {
  std::map<decltype(key(Shard())), std::vector<const Shard*>> groups;
  for (const Shard* shard : shards) groups[key(*shard)].push_back(shard);
  std::vector<std::vector<const Shard*>> out;
  for (auto& [value, group] : groups)
    if (group.size() > 1) out.push_back(std::move(group));
  return out;
}

std::string copies_warning(const std::vector<const Shard*>& copies) {
  const std::string& first = copies[0]->path;
  const std::string& second = copies[1]->path;
  if (copies.size() == 2) return fmt::format("{} and {} hold the same rows: they count twice", first, second);
  return fmt::format("{}, {} and {} more hold the same rows: they count {} times", first, second,
                     count_of(copies.size() - 2, "file"), copies.size());
}

}  // namespace

KnownRows find_known_rows(RowFingerprints& rows, std::span<const TrainingShard> training) {
  return KnownRowsSearch(rows, training).find();
}

std::vector<std::string> copied_rows_warnings(RowFingerprints& rows) {
  std::vector<const Shard*> files;
  for (const Shard& shard : rows.dataset().shards())
    if (shard.rows >= kRows && !shard.path.empty()) files.push_back(&shard);
  std::vector<std::string> warnings;
  // Only files of one size are read at all.
  for (const auto& same_size : alike(files, [](const Shard& one) { return std::pair(one.rows, one.bytes); })) {
    const auto begins = [&rows](const Shard& one) { return rows.of(one.first_row, kRows); };
    const auto ends = [&rows](const Shard& one) { return rows.of(one.first_row + one.rows - kRows, kRows); };
    for (const auto& same_begin : alike(same_size, begins))
      for (const auto& copies : alike(same_begin, ends)) warnings.push_back(copies_warning(copies));
  }
  return warnings;
}

}  // namespace scrm
