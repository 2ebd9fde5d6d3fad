/// The keys of a sweep file, one table: how each is read, how it enters a run's identity, and what people read about
/// it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scrm/experiments/run_options.hpp"

namespace scrm {

class TomlValue;

/// A key of the file. Those of RunOptions can be read; the others say what to run and stand at the top alone.
struct SweepOption {
  const char* key;
  const char* help;    ///< one line
  const char* values;  ///< what it may be
  void (*read)(const TomlValue& value, RunOptions& options) = nullptr;
  /// Its line of describe(); null for the options that tell the runs of one experiment apart, empty where there is no
  /// line: so an option can come later without changing the identity of runs that do not set it.
  std::string (*print)(const RunOptions& options) = nullptr;
};

/// All keys. Their order is that of describe(), which identities of finished runs are made of: a new one goes to the
/// end.
std::span<const SweepOption> sweep_options();

/// The keys of ppo and trpo, and those of feature maps, the last of sweep_options().
std::span<const SweepOption> reinforcement_options() noexcept;
std::span<const SweepOption> feature_options() noexcept;

/// The keys of one table of the file: with those that say what to run (`top`), or options alone.
std::vector<std::string> sweep_keys(bool top);

/// Sets the option of that key; does nothing where the key is not one of RunOptions.
void read_option(const std::string& key, const TomlValue& value, RunOptions& options);

}  // namespace scrm
