#include "scrm/io/shard/shard_writer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "array/chunked_dataset.hpp"
#include "file/descriptor.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/hdf5_file.hpp"
#include "hdf5/hdf5_handle.hpp"
#include "hdf5/hdf5_sink.hpp"
#include "hdf5/metadata_cache.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "shard/rows/encoded_rows.hpp"
#include "shard/shard_header.hpp"

namespace scrm {
namespace {

constexpr const char* kFormat = "scrm-log";
constexpr std::int64_t kFormatVersion = 1;

void check_options(const std::string& path, const Schema& schema, const WriteOptions& options) {
  const auto fail_usage = [&](const std::string& what) { throw Error(ErrorKind::usage, what, {.file = path}); };
  if (options.chunk_rows < 0) fail_usage("a chunk cannot have a negative number of rows");
  if (schema.features < 0) fail_usage("a context cannot have a negative number of features");
  if (schema.action_kind != ActionKind::continuous && schema.num_actions < 1)
    fail_usage("categorical and multilabel actions need num_actions of at least 1");
  if (schema.action_kind != ActionKind::multilabel &&
      (schema.label_propensity || schema.propensity == PropensityForm::label_product))
    fail_usage("label_propensity belongs to multilabel actions");
  const auto check_names = [&](const std::vector<std::string>& names, std::int64_t count, const char* what) {
    if (!names.empty() && static_cast<std::int64_t>(names.size()) != count)
      fail_usage("there are " + std::to_string(names.size()) + " names for " + std::to_string(count) + " " + what);
  };
  check_names(schema.context_columns, schema.features, "features");
  check_names(schema.action_names, schema.num_actions, "actions");
  for (const std::string& name : schema.targets)
    if (name.empty() || name == "." || name.find('/') != std::string::npos)
      fail_usage("'" + name + "' cannot name a target: give it a name without a slash");
}

}  // namespace

struct ShardWriter::Impl {
  Impl(const std::string& path, const Schema& shard_schema, const WriteOptions& write_options);
  ~Impl();

  void append(const EncodedRows& encoded);
  void append(const Block& block);
  void commit();

  void write_root();
  void create_group(const char* name);
  void create_columns(std::int64_t rows);
  void append_sparse(const EncodedRows& encoded);
  void close();
  /// What readers will want to know of the file, which is still open: the note of its seal.
  std::string answers();
  /// Throws when the disk refused a write; HDF5 itself is never told.
  void check_writes() const;
  [[noreturn]] void fail(const std::string& what) const;

  Schema schema;
  WriteOptions options;
  std::int64_t full_chunk;
  std::vector<ShardColumn> columns;
  AtomicFile file;
  hdf5::WriteStatus status;
  hdf5::Handle handle;
  std::vector<ChunkedDataset> datasets;
  std::int64_t written = 0;
  std::int64_t chunk = 0;  // rows per chunk of this file, known with the first rows
  EncodedRows pending;     // plain rows that do not make a chunk yet

  struct Sparse {
    StreamDataset indptr, indices, values;
    std::int64_t entries = 0;
  };
  std::optional<Sparse> sparse;
};

ShardWriter::Impl::Impl(const std::string& path, const Schema& shard_schema, const WriteOptions& write_options)
    : schema(shard_schema),
      options((check_options(path, shard_schema, write_options), write_options)),
      full_chunk(chunk_rows(schema, options)),
      columns(shard_columns(schema, options)),
      file(path) {
  const hdf5::Lock lock;
  handle = hdf5::create_file(file.temporary_path(), status);
  if (!handle.valid()) fail("cannot write");
  write_root();
  for (const ShardColumn& column : columns)
    datasets.emplace_back(path, column.name, column.element, column.width, column.matrix, options.gzip);
  if (!schema.sparse) return;
  const Element value = schema.context_type == FloatType::f32 ? Element::f32 : Element::f64;
  sparse.emplace(Sparse{{path, "context/indptr", Element::i64, full_chunk, options.gzip},
                        {path, "context/indices", Element::i32, kEntriesPerChunk, options.gzip},
                        {path, "context/values", value, kEntriesPerChunk, options.gzip}});
  const std::int64_t zero = 0;
  sparse->indptr.append(handle.get(), reinterpret_cast<const std::byte*>(&zero), sizeof zero);
}

ShardWriter::Impl::~Impl() {
  const hdf5::Lock lock;
  sparse.reset();
  datasets.clear();
  handle.reset();
  H5Eclear2(H5E_DEFAULT);
}

void ShardWriter::Impl::fail(const std::string& what) const {
  const std::string message = what + ", nothing appeared under this name";
  if (status.error == 0) hdf5::fail(ErrorKind::file, message, {.file = file.path()});
  throw Error(ErrorKind::file, message + ": " + reason_of(status.error), {.file = file.path()});
}

void ShardWriter::Impl::check_writes() const {
  if (status.error != 0) fail("cannot write");
}

void ShardWriter::Impl::write_root() {
  const hid_t root = handle.get();
  bool good = write_attribute(root, "format", std::string(kFormat)) &&
              write_attribute(root, "format_version", kFormatVersion) &&
              write_attribute(root, "action_kind", std::string(to_string(schema.action_kind))) &&
              write_attribute(root, "rollout", std::int64_t{options.rollout});
  if (good && schema.action_kind != ActionKind::continuous)
    good = write_attribute(root, "num_actions", std::int64_t{schema.num_actions});
  if (good && schema.outcome) good = write_attribute(root, "outcome", std::string(to_string(*schema.outcome)));
  if (good && !schema.context_columns.empty()) good = write_attribute(root, "context_columns", schema.context_columns);
  if (good && !schema.action_names.empty()) good = write_attribute(root, "action_names", schema.action_names);
  for (const auto& [name, value] : options.attributes) good = good && write_attribute(root, name.c_str(), value);
  if (!good) fail("cannot write the attributes");
  if (schema.sparse) create_group("context");
  if (!schema.targets.empty()) create_group("target");
}

void ShardWriter::Impl::create_group(const char* name) {
  const hdf5::Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail("cannot set up a group");
  const hdf5::Handle group(H5Gcreate2(handle.get(), name, H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose);
  if (!group.valid()) fail("cannot create the group " + std::string(name));
  if (name == std::string("context") && !write_attribute(group.get(), "num_features", schema.features))
    fail("cannot write the number of features");
}

void ShardWriter::Impl::create_columns(std::int64_t rows) {
  chunk = rows;
  for (ChunkedDataset& dataset : datasets) dataset.create(handle.get(), chunk);
}

void ShardWriter::Impl::append(const EncodedRows& encoded) {
  if (encoded.rows == 0) return;
  if (written % full_chunk != 0)
    throw Error(ErrorKind::run, "only the last chunk of a shard may be short", {.file = file.path()});
  if (!encoded.packed) {
    // The last chunk. Alone in its file it sets the chunk size; behind others it is filled up to theirs.
    EncodedRows last = encoded;
    pack_rows(columns, written == 0 ? encoded.rows : full_chunk, options.gzip, last);
    return append(last);
  }
  const hdf5::Lock lock;
  if (chunk == 0) create_columns(std::min(encoded.rows, full_chunk));
  for (std::size_t i = 0; i < datasets.size(); ++i)
    datasets[i].write(written, written + encoded.rows, encoded.columns[i]);
  if (sparse) append_sparse(encoded);
  written += encoded.rows;
  check_writes();
}

void ShardWriter::Impl::append_sparse(const EncodedRows& encoded) {
  std::vector<std::int64_t> ends = encoded.row_ends;
  for (std::int64_t& end : ends) end += sparse->entries;
  sparse->entries = ends.back();
  sparse->indptr.append(handle.get(), reinterpret_cast<const std::byte*>(ends.data()),
                        ends.size() * sizeof(std::int64_t));
  sparse->indices.append(handle.get(), encoded.indices.data(), encoded.indices.size());
  sparse->values.append(handle.get(), encoded.values.data(), encoded.values.size());
}

void ShardWriter::Impl::append(const Block& block) {
  int from = 0;
  while (from < block.rows) {
    const auto room = std::min<std::int64_t>(full_chunk - pending.rows, block.rows - from);
    const int to = from + static_cast<int>(room);
    gather_rows(schema, columns, block, from, to, pending);
    from = to;
    if (pending.rows < full_chunk) continue;
    pack_rows(columns, full_chunk, options.gzip, pending);
    append(pending);
    pending = EncodedRows{};
  }
}

void ShardWriter::Impl::close() {
  const hdf5::Lock lock;
  if (chunk == 0) create_columns(full_chunk);
  if (sparse) {
    sparse->indptr.finish(handle.get());
    sparse->indices.finish(handle.get());
    sparse->values.finish(handle.get());
  }
  if (H5Fflush(handle.get(), H5F_SCOPE_LOCAL) < 0) fail("cannot bring the file to disk");
  bool good = true;
  if (sparse) good = sparse->indptr.close() && sparse->indices.close() && sparse->values.close();
  for (ChunkedDataset& dataset : datasets) good = dataset.close() && good;
  const std::string note = good && status.error == 0 ? answers() : "";
  if (!handle.reset() || !good) fail("cannot finish the file");
  hdf5::seal_file(file.temporary_path(), status, note);
  check_writes();
}

std::string ShardWriter::Impl::answers() {
  MetadataCache cache;
  OpenHdf5 open{std::move(handle)};
  try {
    const Hdf5File finished(file.temporary_path(), open, cache);
    const bool logged = schema.stage == RowStage::logged;
    read_shard_header(finished, {.all_targets = true, .sole_model = true, .cluster = true, .contexts_only = !logged});
  } catch (const Error& error) {
    // A file without any rows to read has no more to say. But the same command writes the same bytes, or none.
    if (error.kind() == ErrorKind::file)
      throw Error(ErrorKind::file, "cannot be read as it was written, nothing appeared under this name",
                  {.file = file.path()});
  }
  open.datasets.clear();
  handle = std::move(open.handle);
  return cache.note();
}

void ShardWriter::Impl::commit() {
  append(pending);
  pending = EncodedRows{};
  close();
  file.commit();
}

ShardWriter::ShardWriter(const std::string& path, const Schema& schema, const WriteOptions& options)
    : impl_(std::make_unique<Impl>(path, schema, options)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(const EncodedRows& rows) {
  if (impl_->pending.rows > 0)
    throw Error(ErrorKind::run, "only the last chunk of a shard may be short", {.file = impl_->file.path()});
  impl_->append(rows);
}

void ShardWriter::append(const Block& block) {
  impl_->append(block);
}

void ShardWriter::commit() {
  impl_->commit();
}

std::int64_t ShardWriter::rows() const noexcept {
  return impl_->written + impl_->pending.rows;
}

}  // namespace scrm
