#include "sweep/output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "report/clock.hpp"
#include "report/version.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/labelled/labelled_import.hpp"
#include "scrm/kernels/vector/isa.hpp"
#include "sweep/part.hpp"

namespace scrm {
namespace {

/// What a sweep may read: its file, and the files of its labelled data sets.
std::vector<std::string> input_files(const SweepFile& file) {
  std::vector<std::string> inputs = {file.path()};
  for (const std::string& environment : file.environments()) {
    if (is_path(environment)) inputs.push_back(file.resolved(environment));
    bool known = is_path(environment);
    for (const EnvironmentEntry& entry : environments()) {
      if (entry.name != environment) continue;
      known = true;
      for (const std::vector<std::string>& choice : entry.files) {
        for (const std::string& name : choice)
          inputs.push_back((std::filesystem::path(file.data_dir()) / name).string());
      }
    }
    if (!known) inputs.push_back((std::filesystem::path(file.data_dir()) / (environment + ".h5")).string());
  }
  const std::vector<std::string> data(inputs.begin() + 1, inputs.end());
  for (const std::string& path : data) inputs.push_back(find_label_xml(path));
  return inputs;
}

}  // namespace

void validate_output(const SweepPlan& plan, const SweepFile& file, const SweepOptions& options,
                     const std::string& journal) {
  if (plan.runs().empty()) {
    throw Error(ErrorKind::usage, "no method of the list fits any of its environments, so there is nothing to run",
                {.file = file.path()});
  }
  if (options.out.empty()) throw Error(ErrorKind::usage, "the name of the archive is empty; give --out a file name");
  std::error_code ignored;
  if (std::filesystem::is_directory(options.out, ignored)) {
    throw Error(ErrorKind::usage, "is a folder; give the name of a file to write", {.file = options.out});
  }
  const std::vector<std::string> inputs = input_files(file);
  require_not_input(options.out, inputs);
  require_not_input(journal, inputs);
}

void write_output(const SweepPlan& plan, const SweepFile& file, const SweepOptions& options,
                  const std::vector<RunRecord>& runs) {
  ResultArchive archive;
  archive.runs = runs;
  archive.attributes = {
      {"sweep", file.text()},
      {"options", plan.options_text()},
      {"version", std::string(version())},
      {"host", host_name()},
      {"instruction_set", active_isa()},
      {"openblas_core", openblas_core()},
      {"libraries", version_text()},
      {"time", time_now()},
      {"threads", fmt::format("{}", options.threads)},
  };
  if (options.part) {
    archive.attributes[kPartAttribute] = to_string(*options.part);
    archive.attributes[kPlanAttribute] = plan.fingerprint();
    archive.attributes[kPlanRunsAttribute] = fmt::format("{}", plan.runs().size());
  }
  write_archive(options.out, archive);
}

}  // namespace scrm
