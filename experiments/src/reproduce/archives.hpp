/// PaperArchives: what the sweeps behind the paper's tables gave, by the name of their request.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "report/sweep/sweep_summary.hpp"
#include "reproduce/request.hpp"
#include "scrm/io/archive/result_archive.hpp"

namespace scrm {

class PaperArchives {
 public:
  void add(const std::string& name, ResultArchive archive);

  /// The line of a method in an environment, from whichever of the archives with these names has it; null where none.
  const SummaryLine* find(const std::string& environment, const std::string& label, const std::string& protocol) const;
  /// All lines of the environment under the protocol, those of one archive after those of another.
  EnvironmentSummary environment(const std::string& environment, const std::string& protocol) const;
  /// All runs of a request; null where it was not made.
  const ResultArchive* runs(const std::string& name) const;

 private:
  struct Entry {
    std::unique_ptr<const ResultArchive> archive;
    SweepSummary summary;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace scrm
