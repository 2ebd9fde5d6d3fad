/// The options of `scrm import`.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/import/labelled_import.hpp"
#include "scrm/io/import/csv_import.hpp"

namespace scrm {

/// The options as they are typed; `import` is what they come to.
struct ImportOptions {
  CommonOptions common;
  CsvImport import;
  LabelledImport labelled;
  std::vector<std::string> files;
  std::string out;
  std::string format;
  std::string action_kind;
  std::string delimiter;  ///< empty: as the file's name says
  std::string compress;
  std::string unseen;
  std::string impute;
  std::vector<std::string> targets;

  // What was given on the command line is known to these.
  std::vector<const CLI::Option*> csv_flags;
  std::vector<const CLI::Option*> text_flags;  // those of csv_flags that arrays have no use for
  LabelledFlags labelled_flags;
  const CLI::Option* action_flag = nullptr;
  const CLI::Option* action_kind_flag = nullptr;
};

/// Gives the command its options, which end up in `options`.
void add_import_options(CLI::App& command, ImportOptions& options);

}  // namespace scrm
