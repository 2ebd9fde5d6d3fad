/// cached_sweep: a sweep that is run once, and read from its archive ever after.
#pragma once

#include <functional>
#include <string>

#include "reproduce/request.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/experiments/sweep.hpp"
#include "scrm/io/archive/result_archive.hpp"

namespace scrm {

struct CacheOptions {
  std::string folder;  ///< of sweep files and archives; must be there
  int threads = 0;
  std::size_t memory = 0;
  StopToken stop;
  std::function<void(const SweepState&)> on_progress;
  std::function<void(const std::string&)> on_warning;
};

/// Where the archive of a request lies: its name, and a hash of its text and of this program's version.
std::string cached_archive(const SweepRequest& request, const std::string& folder);

/// The runs of the request: from its archive where all of them succeeded, else run, or gone on with where an earlier
/// process was stopped. Throws an Error of kind run when asked to stop.
ResultArchive cached_sweep(const SweepRequest& request, const CacheOptions& options);

}  // namespace scrm
