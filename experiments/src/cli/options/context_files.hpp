/// ContextFiles: the contexts a policy acts on, from shards or from CSV files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "scrm/io/file/atomic_folder.hpp"
#include "scrm/io/import/encoding.hpp"
#include "scrm/io/shard/dataset.hpp"

namespace scrm {

/// The contexts as they are asked for.
struct ContextInputs {
  std::vector<std::string> paths;
  std::vector<std::string> columns;  ///< of CSV files: lists of names, ranges and prefixes
  std::string asked_by = "--context";
  std::string encoding;  ///< instead: how columns of CSV files become features
  std::string delimiter = ",";
  std::vector<std::string> keep;  ///< columns of CSV files that are kept as they are; empty: all but those replaced
  std::vector<std::string> replaced;

  bool csv() const { return !columns.empty() || !encoding.empty(); }
};

/// What a name of an input stands for: "-" is the standard input.
std::string input_path(const std::string& name);

/// Takes the columns of CSV files by the names that the policy has for its inputs, where nothing else says which.
void take_policy_inputs(const std::vector<std::string>& names, ContextInputs& inputs);

/// Throws a usage Error where there are CSV files, and nothing says which of their columns are features.
void require_columns(const ContextInputs& inputs);

/// Names as an option takes them in a list.
std::string column_list(const std::vector<std::string>& names);

/// The character of --delimiter: itself, or tab; a usage Error otherwise.
char parse_delimiter(const std::string& text);

/// The contexts as shards: those given, or what CSV files hold, in a folder of its own for as long as this lives.
class ContextFiles {
 public:
  /// That folder is `beside` this path. `keeps`: the columns of CSV files are kept for the output, but for those that
  /// it replaces, with a warning.
  ContextFiles(const ContextInputs& inputs, std::string beside, bool keeps, const CommonOptions& common);

  Dataset open() const { return Dataset(paths_, {.contexts_only = true}); }
  /// Runs what reads them; errors do not name the folder that nobody will see.
  void read(const std::function<void()>& action) const { folder_ ? folder_->write(action) : action(); }

  /// Names of the columns that were kept, and the files that hold them.
  const std::vector<std::string>& kept_names() const { return kept_names_; }
  const std::vector<std::string>& kept_files() const { return kept_files_; }
  /// What the encoding put in place of missing values, and of levels that it does not have.
  std::int64_t filled_holes() const { return filled_holes_; }
  std::int64_t other_levels() const { return other_levels_; }
  const std::optional<Encoding>& encoding() const { return encoding_; }

 private:
  std::vector<std::string> paths_;
  std::vector<std::string> kept_names_, kept_files_;
  std::int64_t filled_holes_ = 0, other_levels_ = 0;
  std::optional<Encoding> encoding_;
  std::optional<AtomicFolder> folder_;
};

}  // namespace scrm
