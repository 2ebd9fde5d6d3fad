#include "shard/rows/shard_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <type_traits>

#include "scrm/io/file/spelling.hpp"
#include "scrm/kernels/scores/transpose.hpp"
#include "shard/rows/block_decoder.hpp"
#include "shard/rows/log_products.hpp"
#include "shard/rows/transpose.hpp"

namespace scrm {
namespace {

// Of narrow contexts a block, 512 KiB, is still in cache when it is used; several blocks of still narrower ones are
// read at once: the system takes a microsecond or two for every call.
constexpr std::size_t kNarrowRowBytes = 256;
constexpr std::size_t kContextAhead = kNarrowRowBytes * kBlockRows;

// Pieces of a block are a multiple of this many rows, so that the columns of each but the last begin on a cache line.
constexpr std::size_t kPieceGrain = 16;

/// Rows that are read and decoded together.
std::int64_t piece_rows(std::size_t row_bytes) noexcept {
  row_bytes = std::max<std::size_t>(1, row_bytes);  // 0 where all rows in memory are the same
  return static_cast<std::int64_t>(
      std::max<std::size_t>(kPieceGrain, ReadBuffer::kPieceBytes / row_bytes / kPieceGrain * kPieceGrain));
}

}  // namespace

template <class Use>
void BlockDecoder::for_each_piece(const Part& part, std::size_t dataset, const RawTile& tile, std::int64_t first,
                                  std::int64_t end, Use&& use) {
  const Element element = tile.element.value_or(part.slice.arrays[dataset].element);
  if (tile.bytes->is_decoding()) rows_.decode_idle_chunks();
  const std::int64_t to = std::min(end, tile.row + tile.rows);
  const std::int64_t most = piece_rows(tile.row_bytes);
  for (std::int64_t from = std::max(first, tile.row); from < to; from += most) {
    Tile piece{element, nullptr, tile.row_bytes, static_cast<int>(std::min(most, to - from)), tile.columns};
    piece.data =
        tile.bytes->data_at(tile.offset + static_cast<std::size_t>(from - tile.row) * tile.row_bytes,
                            static_cast<std::size_t>(piece.rows) * tile.row_bytes, out_.read_buffers()[dataset]);
    use(piece, from);
  }
}

template <class Use>
void BlockDecoder::for_each_piece(const Part& part, std::size_t dataset, Use&& use) {
  const RawArray& array = part.slice.arrays[dataset];
  const std::int64_t end = part.first + part.rows;
  auto tile = std::partition_point(array.tiles.begin(), array.tiles.end(),
                                   [&](const RawTile& t) { return t.row + t.rows <= part.first; });
  for (; tile != array.tiles.end() && tile->row < end; ++tile) {
    for_each_piece(part, dataset, *tile, part.first, end,
                   [&](const Tile& view, std::int64_t from) { use(view, from, tile->column); });
  }
}

template <class To>
void BlockDecoder::columns(const Part& part, std::size_t dataset, const AuditRule& rule, To* base, bool table) {
  for_each_piece(part, dataset, [&](const Tile& view, std::int64_t from, std::int64_t column) {
    if (std::is_floating_point_v<To>) require_exact(part, view, rule, from);
    To* out = base + column * kBlockRows + part.at + (from - part.first);
    if (!to_columns(view, rule.range, out)) find_bad_rows(part, view, rule, from, column, table);
  });
}

const RawTile* BlockDecoder::whole_block_tile(const Part& part, std::size_t dataset, Element element,
                                              std::int64_t columns) const {
  if (!leaves_in_place_ || part.rows != kBlockRows) return nullptr;
  const RawArray& array = part.slice.arrays[dataset];
  const auto tile = std::partition_point(array.tiles.begin(), array.tiles.end(),
                                         [&](const RawTile& t) { return t.row + t.rows <= part.first; });
  const bool whole = tile != array.tiles.end() && tile->element.value_or(array.element) == element &&
                     tile->columns == columns &&
                     tile->row_bytes == static_cast<std::size_t>(columns) * element_size(element) &&
                     tile->row + tile->rows >= part.first + part.rows;
  return whole ? &*tile : nullptr;
}

template <class Room>
const std::byte* BlockDecoder::rows_of_tile(const Part& part, const RawTile& tile, Room&& room) {
  if (tile.bytes->is_decoding()) rows_.decode_idle_chunks();
  return tile.bytes->data_at(tile.offset + static_cast<std::size_t>(part.first - tile.row) * tile.row_bytes,
                             static_cast<std::size_t>(part.rows) * tile.row_bytes, room);
}

template <class Place>
void BlockDecoder::list(const Part& part, std::size_t dataset, const AuditRule& rule, double* column, Place place) {
  if (const RawTile* tile = whole_block_tile(part, dataset, Element::f64, 1)) {
    const std::byte* rows = rows_of_tile(part, *tile, out_.read_buffers()[dataset]);
    // Who reads contexts that nobody has looked at looks at these too.
    const bool unaudited = out_.in_place()->context_by_row != nullptr;
    if (reinterpret_cast<std::uintptr_t>(rows) % alignof(double) == 0 &&
        (unaudited || all_in_range(rows, kBlockRows, rule.range.low, rule.range.high))) {
      std::invoke(place, *out_.in_place()) = reinterpret_cast<const double*>(rows);
      return;
    }
  }
  columns(part, dataset, rule, column, false);
}

void BlockDecoder::decode(const ShardSlice& slice, std::int64_t first, int rows, int at) {
  decode(Part{slice, first, rows, at});
}

void BlockDecoder::decode(const Part& part) {
  decode_context(part);
  if (schema_.stage == RowStage::contexts) return;
  decode_action(part);
  decode_loss(part);
  decode_propensity(part);
  for (std::size_t i = 0; i < schema_.targets.size(); ++i) {
    list(part, kOutside + i, target_rule(schema_.action_kind, schema_.targets[i]), out_.target(static_cast<int>(i)),
         [i](BlockBuffer::InPlace& lists) -> const double*& { return lists.targets[i]; });
  }
  if (schema_.model) decode_model(part);
  if (schema_.cluster) decode_cluster(part);
}

int BlockDecoder::finish(int rows, Audit& audit) {
  if (bad_rows_.empty()) return rows;
  if (unaudited_part_) {
    // Rows can be left out of columns only, and those in place may have bad values too.
    leaves_in_place_ = false;
    out_.leave_nothing_in_place();
    bad_rows_ = {};
    decode(*unaudited_part_);
  }
  out_.copy_lists();
  bad_rows_.report(rows, audit);
  return out_.compact(bad_rows_.keep().data(), rows);
}

void BlockDecoder::require_exact(const Part& part, const Tile& tile, const AuditRule& rule, std::int64_t row) const {
  if (tile.element != Element::i64 && tile.element != Element::u64) return;
  constexpr Range kExact{-0x1p53, 0x1p53};
  for_each_value(tile, [&](int i, std::int64_t, double value) {
    if (kExact.holds(value)) return;
    throw Error(ErrorKind::data,
                fmt::format("{} is an integer beyond 2^53: store such numbers as floating point (or the file is "
                            "damaged)",
                            value),
                {.file = *part.slice.path, .dataset = rule.dataset, .row = row + i});
  });
}

void BlockDecoder::find_bad_rows(const Part& part, const Tile& tile, const AuditRule& rule, std::int64_t row,
                                 std::int64_t column, bool table) {
  for_each_value(tile, [&](int i, std::int64_t j, double value) {
    if (const auto reason = rule.violation(value)) {
      const int in_block = part.at + static_cast<int>(row - part.first) + i;
      bad_rows_.add(in_block, *reason, rule, table ? column + j : -1, *part.slice.path, row + i, value);
    }
  });
}

bool BlockDecoder::keep_context_rows(const Part& part) {
  const Element wanted = schema_.context_type == FloatType::f32 ? Element::f32 : Element::f64;
  const std::size_t row_bytes = static_cast<std::size_t>(schema_.features) * element_size(wanted);
  if (schema_.sparse || row_bytes == 0 || part.slice.order != nullptr) return false;
  const RawTile* tile = whole_block_tile(part, kContext, wanted, schema_.features);
  if (tile == nullptr) return false;
  // Rows of wide contexts would take as much memory again as the columns that they are not made into.
  out_.in_place()->context_by_row = row_bytes <= kNarrowRowBytes
                                        ? rows_of_tile(part, *tile, out_.read_buffers()[kContext])
                                        : rows_of_tile(part, *tile, out_.context_rows());
  return true;
}

void BlockDecoder::decode_context(const Part& part) {
  if (keep_context_rows(part)) {
    unaudited_part_.emplace(part);
  } else {
    out_.clear_context_rows();
    decode_context_columns(part);
  }
}

void BlockDecoder::decode_context_columns(const Part& part) {
  if (schema_.sparse) {
    decode_entries(part);
  } else if (schema_.context_type == FloatType::f32) {
    columns(part, kContext, context_rule("context"), out_.context_f32(), true);
    order_columns(part, out_.context_f32());
  } else {
    columns(part, kContext, context_rule("context"), out_.context_f64(), true);
    order_columns(part, out_.context_f64());
  }
}

template <class T>
void BlockDecoder::order_columns(const Part& part, T* base) {
  if (!part.slice.order) return;
  for (const auto& [a, b] : part.slice.order->swaps) {
    T* column = base + a * kBlockRows + part.at;
    std::swap_ranges(column, column + part.rows, base + b * kBlockRows + part.at);
  }
}

void BlockDecoder::decode_action(const Part& part) {
  const AuditRule rule = action_rule(schema_.action_kind, schema_.num_actions);
  switch (schema_.action_kind) {
    case ActionKind::continuous:
      list(part, kAction, rule, out_.action(), &BlockBuffer::InPlace::action);
      break;
    case ActionKind::categorical:
      columns(part, kAction, rule, out_.category(), false);
      break;
    case ActionKind::multilabel:
      columns(part, kAction, rule, out_.bits(), true);
      break;
  }
}

void BlockDecoder::decode_loss(const Part& part) {
  if (schema_.outcome != Outcome::reward)
    return list(part, kLoss, loss_rule(), out_.loss(), &BlockBuffer::InPlace::loss);
  columns(part, kLoss, loss_rule(), out_.loss(), false);
  as_losses(part, out_.loss());
}

void BlockDecoder::decode_propensity(const Part& part) {
  const ActionKind kind = schema_.action_kind;
  if (schema_.label_propensity) {
    columns(part, kLabelPropensity, propensity_rule(kind, "label_propensity"), out_.label_propensity(), true);
  }
  switch (schema_.propensity) {
    case PropensityForm::linear:
      list(part, kPropensity, propensity_rule(kind, "propensity"), out_.propensity(),
           &BlockBuffer::InPlace::propensity);
      break;
    case PropensityForm::logarithm:
      list(part, kPropensity, log_propensity_rule(kind), out_.propensity(), &BlockBuffer::InPlace::propensity);
      break;
    case PropensityForm::label_product:
      multiply_labels(part);
      break;
  }
}

void BlockDecoder::multiply_labels(const Part& part) {
  log_products(out_.label_propensity() + part.at, part.rows, schema_.num_actions, out_.propensity() + part.at);
}

void BlockDecoder::decode_model(const Part& part) {
  const std::vector<std::string> names = outside_datasets(schema_);
  std::size_t at = schema_.targets.size();
  const auto decode = [&](double* column) {
    columns(part, kOutside + at, model_rule(names[at]), column, false);
    as_losses(part, column);
    ++at;
  };
  decode(out_.model_logged());
  for (std::size_t t = 0; t < schema_.targets.size(); ++t) {
    if (schema_.model->targets[t]) decode(out_.model_target(static_cast<int>(t)));
  }
}

void BlockDecoder::as_losses(const Part& part, double* column) const {
  if (schema_.outcome != Outcome::reward) return;
  for (int i = part.at; i < part.at + part.rows; ++i) column[i] = -column[i];
}

void BlockDecoder::decode_cluster(const Part& part) {
  // Any integer will do, so no row is bad. Unsigned ones above the largest int64 become negative: still one for each.
  constexpr Range kAny{-0x1p64, 0x1p64};
  for_each_piece(part, kCluster, [&](const Tile& view, std::int64_t from, std::int64_t) {
    to_columns(view, kAny, out_.cluster() + part.at + (from - part.first));
  });
}

void BlockDecoder::decode_entries(const Part& part) {
  const ShardSlice& slice = part.slice;
  const std::int64_t* offsets = slice.offsets.data() + (part.first - slice.row_in_file);
  const std::int64_t entries = offsets[part.rows] - offsets[0];
  std::int64_t* indptr = out_.indptr() + part.at;
  const std::int64_t before = part.at == 0 ? 0 : indptr[0];
  for (int i = 0; i <= part.rows; ++i) indptr[i] = before + offsets[i] - offsets[0];
  out_.indices().resize(static_cast<std::size_t>(before + entries));
  out_.values().resize(static_cast<std::size_t>(before + entries));

  // Entries are lists of their own. Their place in the block is not bounded by kBlockRows: column 0 is all there is.
  const auto each_tile = [&](std::size_t dataset, auto&& use) {
    for (const RawTile& tile : slice.arrays[dataset].tiles) {
      for_each_piece(part, dataset, tile, offsets[0], offsets[part.rows], use);
    }
  };
  const auto row_of = [&](std::int64_t entry) {
    return static_cast<int>(std::upper_bound(offsets, offsets + part.rows + 1, entry) - offsets) - 1;
  };

  const Range in_range{0, static_cast<double>(schema_.features) - 1};
  each_tile(kIndices, [&](const Tile& view, std::int64_t from) {
    std::int32_t* out = out_.indices().data() + before + (from - offsets[0]);
    if (schema_.features > 0 && to_columns(view, in_range, out)) return;
    for_each_value(view, [&](int i, std::int64_t, double value) {
      if (in_range.holds(value)) return;
      throw Error(ErrorKind::data,
                  fmt::format("{} (entry {}) is not the index of one of {}", value, from + i,
                              count_of(schema_.features, "feature")),
                  {.file = *slice.path, .dataset = "context/indices", .row = part.first + row_of(from + i)});
    });
  });
  if (slice.order) {
    std::int32_t* indices = out_.indices().data() + before;
    for (std::int64_t i = 0; i < entries; ++i) indices[i] = slice.order->to[static_cast<std::size_t>(indices[i])];
  }
  const AuditRule rule = context_rule("context/values");
  each_tile(kValues, [&](const Tile& view, std::int64_t from) {
    if (to_columns(view, rule.range, out_.values().data() + before + (from - offsets[0]))) return;
    for_each_value(view, [&](int i, std::int64_t, double value) {
      if (const auto reason = rule.violation(value)) {
        const int row = row_of(from + i);
        bad_rows_.add(part.at + row, *reason, rule, -1, *slice.path, part.first + row, value);
      }
    });
  });
}

std::size_t read_buffer_bytes(const Schema& schema) {
  const auto widest = static_cast<std::size_t>(std::max<std::int64_t>({schema.features, schema.num_actions, 1}));
  const std::size_t lists = kOutside + outside_datasets(schema).size();
  return ReadBuffer::bytes(std::max(kContextAhead, kPieceGrain * widest * sizeof(double))) +
         lists * ReadBuffer::bytes(0);
}

std::vector<ReadBuffer> make_read_buffers(const Schema& schema) {
  static_assert(kContext == 0);
  std::vector<ReadBuffer> out;
  out.emplace_back(kContextAhead);
  out.resize(kOutside + outside_datasets(schema).size());
  return out;
}

int ShardRows::decode(std::int64_t from, int count, BlockBuffer& out, Audit& audit) {
  BlockDecoder decoder(*schema_, *this, out);
  const std::int64_t end = from + count;
  if (count == 0 || from < first_row || end > first_row + rows || count > kBlockRows) {
    if (count == 0) return 0;
    throw Error(ErrorKind::run, fmt::format("rows {} to {} were not fetched", from, end - 1));
  }
  auto slice = std::partition_point(slices_.begin(), slices_.end(),
                                    [&](const ShardSlice& p) { return p.first_row + p.rows <= from; });
  for (; slice != slices_.end() && slice->first_row < end; ++slice) {
    const std::int64_t begin = std::max(from, slice->first_row);
    const std::int64_t stop = std::min(end, slice->first_row + slice->rows);
    decoder.decode(*slice, slice->row_in_file + (begin - slice->first_row), static_cast<int>(stop - begin),
                   static_cast<int>(begin - from));
  }
  return decoder.finish(count, audit);
}

void ShardRows::decode_idle_chunks() {
  for (const ShardSlice& slice : slices_) {
    for (const RawArray& array : slice.arrays) {
      for (const RawTile& tile : array.tiles) tile.bytes->decode_if_idle();
    }
  }
}

}  // namespace scrm
