#include "import/shard_sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/unlogged_actions.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
// Beyond so many actions a count of each would take more memory than it is worth.
constexpr int kMaxCounted = 1 << 20;

bool is_file_name(const std::string& out) {
  return std::filesystem::path(out).extension() == ".h5";
}

}  // namespace

std::string unlogged_numbers_warning(const std::vector<std::int64_t>& counts, const Schema& schema, bool count_given) {
  if (!schema.action_names.empty() || (count_given && first_action_hint(counts, {}).empty())) return "";
  const std::string never = unlogged_actions_text(counts, {});
  if (never.empty()) return "";
  return fmt::format("{}; the data set has {} actions, 0 to {}, and policies may choose any of them", never,
                     counts.size(), counts.size() - 1);
}

void check_output(const ImportOutput& output) {
  const auto fail_usage = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
  if (output.out.empty()) fail_usage("--out is missing: name an .h5 file or a folder");
  if (output.shards < 0 || output.rows_per_shard < 0) fail_usage("--shards and --rows-per-shard must be at least 1");
  if (output.shards > 0 && output.rows_per_shard > 0) fail_usage("--shards and --rows-per-shard exclude each other");
  if (is_file_name(output.out) && (output.shards > 1 || output.rows_per_shard > 0))
    fail_usage(fmt::format("--out {} is one file; name a folder for several shards", output.out));
}

ShardSequence::ShardSequence(const ImportOutput& output, const Schema& schema, std::int64_t records)
    : output_(output), schema_(schema), records_(records) {
  if (schema.action_kind == ActionKind::categorical && schema.num_actions <= kMaxCounted)
    action_counts_.resize(static_cast<std::size_t>(schema.num_actions));
  if (!is_file_name(output.out)) folder_.emplace(output.out, output.overwrite);
  open();
}

bool ShardSequence::ends_before(std::int64_t record, std::int64_t rows_in_block) const {
  if (output_.shards > 0) return record >= first_record(opened_);
  return writer_->rows() + rows_in_block >= (output_.rows_per_shard > 0 ? output_.rows_per_shard : kNoLimit);
}

void ShardSequence::append(const Block& block) {
  rows_ += block.rows;
  for (int i = 0; i < block.rows && !action_counts_.empty(); ++i)
    ++action_counts_[static_cast<std::size_t>(block.category[i])];
  with_final_path([&] { writer_->append(block); });
}

void ShardSequence::start_next_shard() {
  with_final_path([&] { writer_->commit(); });
  open();
}

void ShardSequence::commit() {
  // Every shard that was asked for is there, even when the file has fewer rows than that.
  while (opened_ < output_.shards) start_next_shard();
  with_final_path([&] { writer_->commit(); });
  if (folder_) folder_->commit();
}

std::int64_t ShardSequence::first_record(int shard) const {
  if (shard >= output_.shards) return kNoLimit;
  const std::int64_t each = records_ / output_.shards;
  return each * shard + std::min<std::int64_t>(shard, records_ % output_.shards);
}

void ShardSequence::open() {
  const std::string path = folder_ ? fmt::format("{}/part-{:05}.h5", folder_->temporary_path(), opened_) : output_.out;
  ++opened_;
  with_final_path([&] { writer_.emplace(path, schema_, output_.write); });
}

}  // namespace scrm
