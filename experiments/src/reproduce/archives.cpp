#include "reproduce/archives.hpp"

#include <utility>

namespace scrm {
namespace {

/// Names of the requests that hold an environment under a protocol.
std::vector<std::string> request_names(const std::string& environment, const std::string& protocol) {
  if (environment == "pricing" || environment == "advertising") return {"continuous"};
  return {environment + "-bandits-" + protocol, environment + "-" + protocol};
}

}  // namespace

void PaperArchives::add(const std::string& name, ResultArchive archive) {
  Entry entry{std::make_unique<const ResultArchive>(std::move(archive)), {}};
  entry.summary = summarize(entry.archive->runs);
  entries_[name] = std::move(entry);
}

EnvironmentSummary PaperArchives::environment(const std::string& environment, const std::string& protocol) const {
  EnvironmentSummary all{environment, {}};
  for (const std::string& name : request_names(environment, protocol)) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) continue;
    for (const EnvironmentSummary& one : found->second.summary.environments) {
      if (one.name == environment) all.lines.insert(all.lines.end(), one.lines.begin(), one.lines.end());
    }
  }
  return all;
}

const SummaryLine* PaperArchives::find(const std::string& environment, const std::string& label,
                                       const std::string& protocol) const {
  for (const std::string& name : request_names(environment, protocol)) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) continue;
    for (const EnvironmentSummary& one : found->second.summary.environments) {
      const SummaryLine* line = one.name == environment ? find_line(one, label) : nullptr;
      if (line != nullptr) return line;
    }
  }
  return nullptr;
}

const ResultArchive* PaperArchives::runs(const std::string& name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() ? found->second.archive.get() : nullptr;
}

}  // namespace scrm
