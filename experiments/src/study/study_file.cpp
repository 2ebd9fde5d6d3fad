#include "study/study_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "scrm/experiments/sweep_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/limited_text.hpp"
#include "scrm/io/file/spelling.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::int64_t kMostCount = std::int64_t{1} << 31;

struct StudyKey {
  const char *name, *help;
};

constexpr std::array kKeys = {
    StudyKey{"environments", "labelled data sets, multiclass: paths, beside the file or in data_dir"},
    StudyKey{"data_dir", "where they are; else the variable SCRM_DATA_DIR, else ./data"},
    StudyKey{"rows", "rows of a log, one or several numbers; default 1000"},
    StudyKey{"logs", "logs of each data set and size; default 200"},
    StudyKey{"seed", "of all logs; default 0"},
};

toml::table parse(const std::string& path) {
  try {
    return toml::parse(read_limited_text(path, kMostText, "study file"), path);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::usage, fmt::format("line {}: not TOML: {}", error.source().begin.line, error.description()),
                {.file = path});
  }
}

void require_known(const toml::table& table, const std::string& path) {
  std::vector<std::string> known;
  for (const StudyKey& key : kKeys) known.emplace_back(key.name);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = did_you_mean(name, known, "");
    TomlValue(node, name, path)
        .fail("there is no such key; " + (meant.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : meant));
  }
}

}  // namespace

StudyFile::StudyFile(const std::string& path) {
  const toml::table table = parse(path);
  require_known(table, path);
  const auto value = [&](const char* key) -> std::optional<TomlValue> {
    const toml::node* node = table.get(key);
    return node != nullptr ? std::optional<TomlValue>(TomlValue(*node, key, path)) : std::nullopt;
  };
  const auto environments = value("environments"), folder = value("data_dir");
  if (!environments) {
    throw Error(ErrorKind::usage, "environments is missing; write for instance environments = [\"vowel.arff\"]",
                {.file = path});
  }
  const std::filesystem::path data_dir = labelled_data_dir(path, folder ? std::optional(folder->text()) : std::nullopt);
  for (const std::string& name : environments->names()) {
    std::error_code ignored;
    const std::string there = (data_dir / name).string();
    data.push_back(std::filesystem::exists(there, ignored) ? there : path_beside(path, name));
  }
  if (const auto given = value("rows"))
    for (const TomlValue& item : given->items()) rows.push_back(item.integer(1, kMostCount));
  if (const auto given = value("logs")) logs = given->integer(1, kMostCount);
  if (const auto given = value("seed")) seed = given->integer(0, std::numeric_limits<std::int64_t>::max());
}

std::string study_file_help() {
  std::string text;
  for (const StudyKey& key : kKeys) text += fmt::format("  {:<22}{}\n", key.name, key.help);
  return text;
}

}  // namespace scrm
