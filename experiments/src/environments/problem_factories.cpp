#include "environments/problem_factories.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <vector>

#include "scrm/experiments/environment.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/labelled_import.hpp"
#include "scrm/io/spelling.hpp"

namespace scrm {

std::unique_ptr<Source> BanditProblem::regenerated_batches(const std::vector<LoggingPolicy>&) const {
  return nullptr;
}

std::optional<Policy> BanditProblem::constant_policy(bool) const {
  return std::nullopt;
}

namespace {

/// A data set that has a name of its own, and the files it may come in: the first list whose files are all there.
struct NamedData {
  const char* name;
  std::vector<std::vector<std::string>> files;
  LabelledTraits traits;
};

const std::vector<NamedData>& named_data() {
  static const std::vector<NamedData> data = {
      {"scene", {{"scene.h5"}, {"scene-train.arff", "scene-test.arff"}, {"scene.arff"}}, {0.025, false}},
      {"yeast", {{"yeast.h5"}, {"yeast.arff"}, {"yeast-train.arff", "yeast-test.arff"}}, {2.0, false}},
      // On unit-length rows the paper's bonus of 4 would saturate the first policy; this one brings its expected test
      // loss to the paper's 0.51.
      {"tmc2007", {{"tmc2007.h5"}, {"tmc2007-500.arff"}, {"tmc2007.arff"}}, {0.67, true}},
  };
  return data;
}

std::unique_ptr<ProblemFactory> open_labelled(const std::vector<std::string>& files, const LabelledTraits& traits) {
  return make_labelled_factory(std::make_shared<const LabelledData>(read_any_labelled(files)), traits);
}

std::unique_ptr<ProblemFactory> open_named(const NamedData& data, const std::filesystem::path& folder) {
  std::vector<std::string> wanted;
  for (const std::vector<std::string>& files : data.files) {
    std::vector<std::string> paths;
    bool all = true;
    for (const std::string& file : files) {
      paths.push_back((folder / file).string());
      all = all && std::filesystem::exists(paths.back());
    }
    if (all) return open_labelled(paths, data.traits);
    wanted.push_back(fmt::format("{}", fmt::join(files, " + ")));
  }
  throw Error(
      ErrorKind::file,
      fmt::format("the data set {} is not in this folder: it needs {}. The files are those of the Mulan library "
                  "of multi-label data sets; put them there with their .xml, or say where they are with "
                  "data_dir in the sweep file or the variable SCRM_DATA_DIR",
                  data.name, fmt::join(wanted, ", or ")),
      {.file = folder.string()});
}

}  // namespace

bool is_path(const std::string& environment) noexcept {
  return environment.find_first_of("/.") != std::string::npos;
}

std::unique_ptr<ProblemFactory> make_problem_factory(const std::string& name, const std::string& data_dir) {
  std::vector<std::string> names;
  for (const EnvironmentEntry& entry : environments()) {
    if (name == entry.name) return make_synthetic_factory(name);
    names.emplace_back(entry.name);
  }
  for (const NamedData& data : named_data()) {
    if (name == data.name) return open_named(data, data_dir);
    names.emplace_back(data.name);
  }
  if (is_path(name)) return open_labelled({name}, {});
  const std::string meant = did_you_mean(name, names, "\"");
  throw Error(ErrorKind::usage,
              fmt::format("there is no environment \"{}\"; {}", name,
                          meant.empty() ? fmt::format("choose among {}, or give the path of a labelled data set",
                                                      fmt::join(names, ", "))
                                        : meant));
}

}  // namespace scrm
