/// reproduce: the paper's tables and figures as a page, from sweeps that are run once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/page/page.hpp"
#include "reproduce/cached_sweep.hpp"
#include "reproduce/request.hpp"

namespace scrm {

/// What can be reproduced: "table1", ..., "fig8".
const std::vector<std::string>& reproducible_parts();

/// Called before each step: what it is, and its place among all.
struct ReproduceStep {
  std::string name;
  std::size_t number = 0, all = 0;
  double cost_left = 0;  ///< seconds on two cores, this step included
};

struct ReproduceRun {
  std::vector<std::string> parts;
  ReproduceOptions options;
  CacheOptions cache;
  std::function<void(const ReproduceStep&)> on_step;
  std::function<void(std::int64_t done, std::int64_t all)> on_study;
};

/// Runs what was not run before, and makes the page. No clock is in it: the same command gives the same bytes.
Page reproduce(const ReproduceRun& run);

/// Where files of a labelled data set are wanted, in words: "scene: scene-train.arff + scene-test.arff, or scene.arff".
std::string wanted_files(const std::string& data_set);
/// Whether they are in this folder.
bool has_files(const std::string& data_set, const std::string& folder);

}  // namespace scrm
