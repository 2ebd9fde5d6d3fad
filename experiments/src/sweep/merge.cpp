#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "report/clock.hpp"
#include "scrm/experiments/sweep.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "sweep/part.hpp"

namespace scrm {
namespace {

constexpr const char* kHost = "host";

std::string attribute(const ResultArchive& archive, const std::string& name) {
  const auto found = archive.attributes.find(name);
  return found != archive.attributes.end() ? found->second : "";
}

/// Archives of parts of one sweep, put together one after another.
class PartMerger {
 public:
  void add(const std::string& path) {
    ResultArchive archive = read_archive(path);
    const std::string text = attribute(archive, kPartAttribute);
    if (text.empty()) {
      throw Error(ErrorKind::data, "is no part of a sweep but a whole one; merge takes what `scrm sweep --part` wrote",
                  {.file = path});
    }
    const SweepPart part = parse_part(text);
    if (paths_.empty()) {
      merged_.attributes = archive.attributes;
      first_ = path;
      count_ = part.count;
    } else {
      require_same_sweep(archive, part, path);
    }
    if (const auto [same, is_new] = paths_.emplace(part.index, path); !is_new) {
      throw Error(ErrorKind::data, fmt::format("is part {}, and so is {}; give every part once", text, same->second),
                  {.file = path});
    }
    hosts_.insert(attribute(archive, kHost));
    for (RunRecord& run : archive.runs) add_run(std::move(run), path);
  }

  ResultArchive finish() {
    require_all_parts();
    for (auto& [index, run] : runs_) merged_.runs.push_back(std::move(run));
    for (const char* name : {kPartAttribute, kPlanAttribute, kPlanRunsAttribute}) merged_.attributes.erase(name);
    merged_.attributes[kHost] = fmt::format("{}", fmt::join(hosts_, ", "));
    merged_.attributes["time"] = time_now();
    return std::move(merged_);
  }

 private:
  void require_same_sweep(const ResultArchive& archive, const SweepPart& part, const std::string& path) const {
    // By what a reader can do something about first; the plan holds all of it.
    for (const auto& [name, words] :
         {std::pair("version", "version of the program"), std::pair("instruction_set", "instruction set"),
          std::pair("openblas_core", "OpenBLAS core")}) {
      const std::string was = attribute(merged_, name), is = attribute(archive, name);
      if (was == is) continue;
      throw Error(ErrorKind::data,
                  fmt::format("was made with another {} ({}) than {} ({}); their numbers would not be those of one "
                              "process",
                              words, is, first_, was),
                  {.file = path});
    }
    if (attribute(archive, kPlanAttribute) != attribute(merged_, kPlanAttribute)) {
      throw Error(ErrorKind::data,
                  fmt::format("belongs to another sweep than {}: its runs are others, by the sweep file, the options "
                              "or the data of environments",
                              first_),
                  {.file = path});
    }
    if (part.count != count_) {
      throw Error(ErrorKind::data,
                  fmt::format("is one of {} parts, {} is one of {}; give the parts of one division", part.count, first_,
                              count_),
                  {.file = path});
    }
  }

  void add_run(RunRecord run, const std::string& path) {
    const auto place = run.numbers.find(kPlanIndex);
    if (place == run.numbers.end()) {
      throw Error(ErrorKind::data, "has no places of its runs in the plan; make the part anew",
                  {.file = path, .dataset = fmt::format("runs/{}", kPlanIndex)});
    }
    const auto index = static_cast<std::size_t>(place->second);
    run.numbers.erase(place);
    if (!runs_.emplace(index, std::move(run)).second) {
      throw Error(ErrorKind::data, fmt::format("run {} of the sweep is in an earlier part too", index + 1),
                  {.file = path});
    }
  }

  void require_all_parts() const {
    std::vector<std::string> missing;
    for (int i = 1; i <= count_; ++i) {
      if (paths_.count(i) == 0) missing.push_back(to_string({i, count_}));
    }
    if (!missing.empty()) {
      const std::size_t shown = std::min<std::size_t>(missing.size(), 5);
      throw Error(
          ErrorKind::data,
          fmt::format("{} of {} parts {} missing ({}{}); run {} with `scrm sweep FILE.toml --part {} --out "
                      "PART.h5`, with --resume where it was begun",
                      missing.size(), count_, missing.size() == 1 ? "is" : "are",
                      fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                      missing.size() > shown ? ", …" : "", missing.size() == 1 ? "it" : "them", missing.front()));
    }
    if (const std::string planned = attribute(merged_, kPlanRunsAttribute);
        planned != fmt::format("{}", runs_.size())) {
      throw Error(ErrorKind::data, fmt::format("the parts hold {} runs of a sweep of {}", runs_.size(), planned),
                  {.file = first_});
    }
  }

  ResultArchive merged_;
  std::string first_;  // the file that the others are compared with
  int count_ = 0;
  std::map<int, std::string> paths_;  // by the number of their part
  std::map<std::size_t, RunRecord> runs_;
  std::set<std::string> hosts_;
};

}  // namespace

MergeReport merge_parts(const std::vector<std::string>& parts, const std::string& out) {
  if (parts.empty()) throw Error(ErrorKind::usage, "give the archives of the parts");
  require_distinct(parts);
  require_not_input(out, parts);
  PartMerger merger;
  for (const std::string& path : parts) merger.add(path);
  ResultArchive archive = merger.finish();
  write_archive(out, archive);
  return {std::move(archive.runs), static_cast<int>(parts.size())};
}

}  // namespace scrm
