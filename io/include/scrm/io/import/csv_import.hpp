/// CSV import: the columns of text files, by name, to the shards of a logged data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scrm/io/import/encoding.hpp"
#include "scrm/io/import/import_output.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

/// What is imported and how. Columns are given by the names in the files' headers. Where several are meant, by names,
/// ranges "first:last" and prefixes "x*", the last two in file order and without the columns that have another role. A
/// text may also hold several of these with commas between them, where no column has the whole of it as its name; a
/// name with a comma stands in double quotes there.
struct CsvImport : ImportOutput {
  std::vector<std::string> files;  ///< one behind the other; columns are matched by name. May be gzip-compressed
  char delimiter = ',';

  std::vector<std::string> context;  ///< empty: the columns of the encoding, or rows without context
  std::vector<std::string> action;   ///< one column, or one of 0 and 1 for each label
  std::string loss;                  ///< this or `reward`; either is stored as it is
  std::string reward;
  std::string propensity;  ///< one of these, or for multilabel actions `label_propensity` alone
  std::string log_propensity;
  std::vector<std::string> label_propensity;
  std::vector<std::pair<std::string, std::string>> targets;  ///< name of the target, column; both may end in "*"
  /// Rows with one value (a user, a session) are not independent; empty: all are. Integers become the dataset `cluster`
  /// as they are, any other text a hash of 63 bits, which is the same in every file.
  std::string cluster;

  ActionKind action_kind = ActionKind::continuous;
  /// Categorical; 0: as many as there are names, or the largest action in the files and one more, found in a pass of
  /// its own. Actions are names where none of them is a number, or where `categorical` has their column.
  int num_actions = 0;
  bool float32 = false;  ///< context as float32

  // How context columns become features. What is not said here is left to the encoding, where its file is there.
  std::vector<std::string> categorical;  ///< one feature for each level; columns that `context` lacks are added to it
  std::optional<UnseenLevel> unseen;     ///< default other
  std::optional<Impute> impute;          ///< default error
  std::string encoding;                  ///< file to write the recipe to, or to use it from where it is there

  /// Runs task(0) … task(count − 1), on several threads where it has them, and returns when all are done. Null: one
  /// after another. Neither this nor `threads`, which says how many there are, changes what is written.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)> parallel = {};
  int threads = 1;
};

/// Runs the import in constant memory. Either all shards appear or none: the first bad row (unless skip_bad_rows) and
/// anything else that fails throws an Error that names file, line, column and value.
ImportResult import_csv(const CsvImport& import, const BytesProgress& progress = {});

}  // namespace scrm
