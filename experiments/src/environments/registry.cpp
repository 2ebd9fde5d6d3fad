#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "environments/problem/problem_factories.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/labelled/labelled_import.hpp"

namespace scrm {

#define SCRM_ENVIRONMENT(name) EnvironmentEntry name##_environment();
#include "environments/environments.inc"
#undef SCRM_ENVIRONMENT

namespace {

std::deque<EnvironmentEntry>& registry() {
  static std::deque<EnvironmentEntry> entries = {
#define SCRM_ENVIRONMENT(name) name##_environment(),
#include "environments/environments.inc"
#undef SCRM_ENVIRONMENT
  };
  return entries;
}

const EnvironmentEntry* find(const std::string& name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&name](const EnvironmentEntry& entry) { return entry.name == name; });
  return found != registry().end() ? &*found : nullptr;
}

/// Fails with the name that was meant, or with all: those that draw their rows, or with labelled data too.
[[noreturn]] void fail_unknown(const std::string& name, bool labelled) {
  std::vector<std::string> names;
  for (const EnvironmentEntry& entry : registry()) {
    if (labelled || entry.make != nullptr) names.push_back(entry.name);
  }
  const std::string meant = did_you_mean(name, names, "\"");
  throw Error(
      ErrorKind::usage,
      fmt::format(
          "there is no environment \"{}\"; {}", name,
          !meant.empty()
              ? meant
              : fmt::format("choose among {}{}", fmt::join(names, ", "),
                            labelled
                                ? ", or give the path of a labelled data set, or the name of one NAME.h5 in data_dir"
                                : "")));
}

ProblemFactory open_files(const std::vector<std::string>& files, const LabelledTraits& traits, std::size_t memory) {
  for (const std::string& file : files) require_file(file);
  return make_labelled_factory(std::make_shared<const LabelledData>(read_any_labelled(files, {.memory = memory})),
                               traits);
}

ProblemFactory open_named(const EnvironmentEntry& entry, const std::filesystem::path& folder, std::size_t memory) {
  std::vector<std::string> wanted;
  for (const std::vector<std::string>& files : entry.files) {
    std::vector<std::string> paths;
    bool all = true;
    for (const std::string& file : files) {
      paths.push_back((folder / file).string());
      all = all && std::filesystem::exists(paths.back());
    }
    if (all) return open_files(paths, entry.traits, memory);
    wanted.push_back(fmt::format("{}", fmt::join(files, " + ")));
  }
  throw Error(
      ErrorKind::file,
      fmt::format("the data set {} is not in this folder: it needs {}. The files are those of the Mulan library "
                  "of multi-label data sets; put them there with their .xml, or say where they are with "
                  "data_dir in the sweep file or the variable SCRM_DATA_DIR",
                  entry.name, fmt::join(wanted, ", or ")),
      {.file = folder.string()});
}

}  // namespace

const std::deque<EnvironmentEntry>& environments() {
  return registry();
}

void register_environment(EnvironmentEntry entry) {
  if (find(entry.name) != nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("there is an environment \"{}\" already; give this one another name", entry.name));
  }
  registry().push_back(std::move(entry));
}

std::unique_ptr<Environment> make_environment(const std::string& name, const EnvironmentOptions& options) {
  const EnvironmentEntry* entry = find(name);
  if (entry == nullptr || entry->make == nullptr) fail_unknown(name, false);
  return entry->make(options);
}

bool is_path(const std::string& environment) noexcept {
  return environment.find_first_of("/.") != std::string::npos;
}

ProblemFactory make_problem_factory(const std::string& name, const std::string& data_dir, std::size_t memory) {
  if (const EnvironmentEntry* entry = find(name)) {
    return entry->make != nullptr ? make_synthetic_factory(entry->make) : open_named(*entry, data_dir, memory);
  }
  if (is_path(name)) return open_files({name}, {}, memory);
  const std::filesystem::path own = std::filesystem::path(data_dir) / (name + ".h5");
  if (std::error_code ignored; std::filesystem::is_regular_file(own, ignored))
    return open_files({own.string()}, {}, memory);
  fail_unknown(name, true);
}

Policy Environment::start_policy(std::uint64_t) const {
  return first_policy();
}

void Environment::action_normals(const EnvironmentRows& rows, double* out) const noexcept {
  for (int i = 0; i < rows.rows; ++i) {
    out[i] = row_stream(rows.rollout_key, StreamPurpose::action, rows.first_row + i).normal();
  }
}

void Environment::test_normals(const EnvironmentRows& rows, int draws, double* out) const noexcept {
  for (int i = 0; i < rows.rows; ++i) {
    RandomStream random = row_stream(rows.rollout_key, StreamPurpose::action, rows.first_row + i);
    for (int d = 0; d < draws; ++d) out[static_cast<std::int64_t>(d) * kBlockRows + i] = random.normal();
  }
}

}  // namespace scrm
