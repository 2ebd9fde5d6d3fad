/// Episodes: logged rows as episodes of one step, in memory, with numbers of unit size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// What is subtracted from the numbers of a column, and what they are then divided by.
struct ColumnUnit {
  double centre = 0;
  double spread = 1;
};

/// Units in which features, actions and rewards have mean 0 and spread 1, so that one learning rate suits all of them.
struct EpisodeUnits {
  std::vector<ColumnUnit> features;
  ColumnUnit action;  ///< of continuous actions; that of others stays as it is
  ColumnUnit reward;
};

/// Rows with the reward −loss. Contexts that several rows share are held once.
struct Episodes {
  ActionKind action_kind = ActionKind::continuous;
  std::int64_t width = 1;        ///< of a context: a leading 1, then its features
  int action_width = 1;          ///< numbers of an action: the bits of multilabel ones, else one
  int replays = 1;               ///< consecutive rows that share a context
  std::vector<double> contexts;  ///< row after row, `width` numbers each
  std::vector<double> actions;   ///< row after row, `action_width` numbers each
  std::vector<double> rewards;

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(rewards.size()); }
  std::int64_t context_rows() const noexcept { return rows() / replays; }
};

/// All rows of the source, in the units of their columns.
Episodes read_episodes(Source& rows);

/// Units of these episodes; a column without spread keeps its own. Throws Error (data) for numbers that are too large
/// to be squared.
EpisodeUnits units_of(const Episodes& episodes);

/// Turns the columns into these units.
void standardize(const EpisodeUnits& units, Episodes& episodes);

/// Bytes of so many rows as episodes, and of what an update keeps of each.
std::size_t episode_bytes(const Schema& schema, std::int64_t rows);

}  // namespace scrm
