/// The part of `scrm import` that makes labelled data sets.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "scrm/io/labelled/labelled_import.hpp"

namespace scrm {

/// What is imported and how. The options are those of the format; files, out and gzip are given to all formats.
struct LabelledImport {
  std::vector<std::string> files;
  std::string out;
  bool gzip = false;
  LabelledOptions options;

  // As typed; "auto" stands for what the numbers in the file say.
  std::string first_label = "auto";
  std::string first_feature = "auto";
};

/// The options of labelled formats by the format they belong to.
struct LabelledFlags {
  std::vector<const CLI::Option*> both;
  const CLI::Option* class_column = nullptr;  ///< of arff, and what makes a csv file labelled data
  const CLI::Option* multiclass = nullptr;    ///< of arff and libsvm
  std::vector<const CLI::Option*> arff;
  std::vector<const CLI::Option*> libsvm;
};

LabelledFlags add_labelled_options(CLI::App& command, LabelledImport& import);

/// Reads, writes, and prints what was found.
void run_labelled_import(LabelledImport import, LabelledFormat format, const CommonOptions& common);

}  // namespace scrm
