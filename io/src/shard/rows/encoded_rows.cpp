#include "shard/rows/encoded_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "array/chunk_filters.hpp"
#include "array/chunked_dataset.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// Rows [from, to) of `width` columns, kBlockRows apart, become row-major. Eight rows at a time: a cache line of each
/// source column is then used up while it is there, however many columns map to the same cache set.
template <class From, class To>
void transpose(const From* source, int from, int to, std::int64_t width, To* out) noexcept {
  constexpr int kTile = 8;
  for (int row = from; row < to; row += kTile) {
    const int tile = std::min(kTile, to - row);
    for (std::int64_t j = 0; j < width; ++j) {
      const From* column = source + j * kBlockRows + row;
      for (int i = 0; i < tile; ++i) out[i * width + j] = static_cast<To>(column[i]);
    }
    out += tile * width;
  }
}

[[noreturn]] void mismatch(const std::string& what) {
  throw Error(ErrorKind::run, "rows do not fit the shard they are written to: " + what);
}

/// A source column and how its elements are typed in memory.
struct SourceColumn {
  const void* data;
  Element element;
};

SourceColumn source_column(const ShardColumn& column, const Schema& schema, const Block& block) {
  switch (column.field) {
    case BlockField::context:
      return {block.context, block.context_type == FloatType::f32 ? Element::f32 : Element::f64};
    case BlockField::action:
      return {block.action, Element::f64};
    case BlockField::category:
      return {block.category, Element::i32};
    case BlockField::bits:
      return {block.bits, Element::u8};
    case BlockField::loss:
      return {block.loss, Element::f64};
    case BlockField::propensity:
      return {schema.propensity == PropensityForm::linear ? block.propensity : block.log_propensity, Element::f64};
    case BlockField::label_propensity:
      return {block.label_propensity, Element::f64};
    case BlockField::target:
      return {column.target < block.num_targets ? block.targets[column.target] : nullptr, Element::f64};
    case BlockField::cluster:
      return {block.cluster, Element::i64};
  }
  return {nullptr, Element::f64};
}

template <class From, class To>
void append_as(const ShardColumn& column, const void* data, int from, int to, std::vector<std::byte>& bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(before + static_cast<std::size_t>(to - from) * column.row_bytes());
  transpose(static_cast<const From*>(data), from, to, column.width, reinterpret_cast<To*>(bytes.data() + before));
}

void append_column(const ShardColumn& column, const SourceColumn& source, int from, int to,
                   std::vector<std::byte>& bytes) {
  visit_element(source.element, [&](auto zero) {
    using From = decltype(zero);
    if constexpr (std::is_floating_point_v<From>) {
      if (column.element == Element::f32) return append_as<From, float>(column, source.data, from, to, bytes);
      return append_as<From, double>(column, source.data, from, to, bytes);
    } else {
      return append_as<From, From>(column, source.data, from, to, bytes);
    }
  });
}

void append_sparse(const Schema& schema, const SparseContext& sparse, int from, int to, EncodedRows& out) {
  const std::int64_t begin = sparse.indptr[from];
  const std::int64_t end = sparse.indptr[to];
  const std::int64_t before = out.row_ends.empty() ? 0 : out.row_ends.back();
  for (int row = from; row < to; ++row) out.row_ends.push_back(before + sparse.indptr[row + 1] - begin);
  const auto* indices = reinterpret_cast<const std::byte*>(sparse.indices + begin);
  const auto count = static_cast<std::size_t>(end - begin);
  out.indices.insert(out.indices.end(), indices, indices + count * sizeof(std::int32_t));
  if (schema.context_type == FloatType::f64) {
    const auto* values = reinterpret_cast<const std::byte*>(sparse.values + begin);
    out.values.insert(out.values.end(), values, values + count * sizeof(double));
    return;
  }
  const std::size_t old_size = out.values.size();
  out.values.resize(old_size + count * sizeof(float));
  auto* narrow = reinterpret_cast<float*>(out.values.data() + old_size);
  for (std::size_t i = 0; i < count; ++i)
    narrow[i] = static_cast<float>(sparse.values[begin + static_cast<std::int64_t>(i)]);
}

}  // namespace

std::vector<ShardColumn> shard_columns(const Schema& schema, const WriteOptions& options) {
  const Element scalar = options.float32_scalars ? Element::f32 : Element::f64;
  std::vector<ShardColumn> columns;
  const auto add = [&](std::string name, BlockField field, Element element, std::int64_t width, bool matrix,
                       int target = 0) {
    columns.push_back({std::move(name), field, target, element, width, matrix});
  };
  if (!schema.sparse && schema.features > 0)
    add("context", BlockField::context, schema.context_type == FloatType::f32 ? Element::f32 : Element::f64,
        schema.features, true);
  if (schema.stage == RowStage::contexts) return columns;
  switch (schema.action_kind) {
    case ActionKind::continuous:
      add("action", BlockField::action, scalar, 1, false);
      break;
    case ActionKind::categorical:
      add("action", BlockField::category, Element::i32, 1, false);
      break;
    case ActionKind::multilabel:
      add("action", BlockField::bits, Element::u8, schema.num_actions, true);
      break;
  }
  if (schema.stage == RowStage::logged) add("loss", BlockField::loss, scalar, 1, false);
  if (schema.propensity == PropensityForm::linear) add("propensity", BlockField::propensity, scalar, 1, false);
  if (schema.propensity == PropensityForm::logarithm) add("log_propensity", BlockField::propensity, scalar, 1, false);
  if (schema.label_propensity || schema.propensity == PropensityForm::label_product)
    add("label_propensity", BlockField::label_propensity, scalar, schema.num_actions, true);
  for (std::size_t i = 0; i < schema.targets.size(); ++i)
    add("target/" + schema.targets[i], BlockField::target, scalar, 1, false, static_cast<int>(i));
  if (schema.cluster) add("cluster", BlockField::cluster, Element::i64, 1, false);
  return columns;
}

std::int64_t chunk_rows(const Schema& schema, const WriteOptions& options) noexcept {
  if (options.chunk_rows > 0) return options.chunk_rows;
  const std::int64_t context = schema.sparse ? 0 : schema.features * (schema.context_type == FloatType::f32 ? 4 : 8);
  const bool labels = schema.action_kind == ActionKind::multilabel;
  const std::int64_t widest = std::max({std::int64_t{8}, context, labels ? std::int64_t{8} * schema.num_actions : 0});
  return default_chunk_rows(widest);
}

void gather_rows(const Schema& schema, const std::vector<ShardColumn>& columns, const Block& block, int from, int to,
                 EncodedRows& out) {
  if (from == to) return;
  if (block.action_kind != schema.action_kind) mismatch("another kind of action");
  if (block.features != schema.features)
    mismatch(std::to_string(block.features) + " features instead of " + std::to_string(schema.features));
  if (schema.action_kind == ActionKind::multilabel && block.num_actions != schema.num_actions)
    mismatch(std::to_string(block.num_actions) + " labels instead of " + std::to_string(schema.num_actions));
  if (schema.sparse && block.sparse.indptr == nullptr) mismatch("a dense context instead of a sparse one");

  out.columns.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const SourceColumn source = source_column(columns[i], schema, block);
    if (source.data == nullptr) mismatch("there is no " + columns[i].name);
    append_column(columns[i], source, from, to, out.columns[i]);
  }
  if (schema.sparse) append_sparse(schema, block.sparse, from, to, out);
  out.rows += to - from;
}

void pack_rows(const std::vector<ShardColumn>& columns, std::int64_t chunk, bool gzip, EncodedRows& rows) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    pack_chunk(rows.columns[i], columns[i].element, chunk * columns[i].width, gzip);
  rows.packed = true;
}

void EncodedRowsDeleter::operator()(EncodedRows* rows) const noexcept {
  delete rows;
}

EncodedRowsPtr encode_rows(const Schema& schema, const WriteOptions& options, const std::vector<Block>& blocks) {
  const std::int64_t chunk = chunk_rows(schema, options);
  const std::vector<ShardColumn> columns = shard_columns(schema, options);
  EncodedRowsPtr encoded(new EncodedRows);
  std::int64_t rows = 0;
  for (const Block& block : blocks) rows += block.rows;
  if (rows > chunk)
    mismatch(std::to_string(rows) + " rows are more than a chunk of " + std::to_string(chunk) + " takes");
  encoded->columns.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    encoded->columns[i].reserve(static_cast<std::size_t>(rows) * columns[i].row_bytes());
  for (const Block& block : blocks) gather_rows(schema, columns, block, 0, block.rows, *encoded);
  // Fewer rows are a shard's last chunk, perhaps its only one: how large that chunk is, only the writer knows.
  if (rows == chunk) pack_rows(columns, chunk, options.gzip, *encoded);
  return encoded;
}

}  // namespace scrm
