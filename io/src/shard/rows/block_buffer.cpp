#include "scrm/io/shard/block_buffer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "file/file_range.hpp"

namespace scrm {
namespace {

template <class T>
AlignedArray<T> make_columns(std::int64_t columns, std::int64_t rows = kBlockRows) {
  return make_aligned<T>(static_cast<std::size_t>(columns * rows));
}

/// With a page behind them, see BlockBuffer::context_rows().
template <class T>
AlignedArray<T> make_context(std::int64_t columns, std::int64_t rows) {
  if (columns == 0) return make_aligned<T>(0);
  return make_aligned<T>(static_cast<std::size_t>(columns * rows) + kPageBytes / sizeof(T));
}

template <class T>
void copy_columns(const T* from, T* to, std::int64_t columns, std::int64_t stride, int begin, int count,
                  int at) noexcept {
  if (from == nullptr || to == nullptr) return;
  for (std::int64_t j = 0; j < columns; ++j) std::copy_n(from + j * stride + begin, count, to + j * stride + at);
}

/// Moves the kept rows of each column to the front and zeroes what they leave behind, since that may hold the very
/// values that are not finite.
template <class T>
void compact_columns(T* base, std::int64_t columns, const std::uint8_t* keep, int rows) noexcept {
  if (base == nullptr) return;
  for (std::int64_t j = 0; j < columns; ++j) {
    T* column = base + j * kBlockRows;
    int kept = 0;
    for (int i = 0; i < rows; ++i) {
      column[kept] = column[i];
      kept += keep[i] != 0;
    }
    std::memset(column + kept, 0, static_cast<std::size_t>(rows - kept) * sizeof(T));
  }
}

std::int64_t dense_columns(const Schema& schema, FloatType type) noexcept {
  return !schema.sparse && schema.context_type == type ? schema.features : 0;
}

bool has_actions(const Schema& schema) noexcept {
  return schema.stage != RowStage::contexts;
}

std::int64_t loss_columns(const Schema& schema) noexcept {
  return schema.stage == RowStage::logged ? 1 : 0;
}

std::int64_t label_columns(const Schema& schema) noexcept {
  return has_actions(schema) && schema.label_propensity ? schema.num_actions : 0;
}

std::int64_t model_columns(const Schema& schema) noexcept {
  if (!has_actions(schema) || !schema.model) return 0;
  return 1 + std::count(schema.model->targets.begin(), schema.model->targets.end(), true);
}

std::int64_t cluster_columns(const Schema& schema) noexcept {
  return has_actions(schema) && schema.cluster ? 1 : 0;
}

}  // namespace

BlockBuffer::BlockBuffer(const Schema& schema) : schema_(schema) {
  context_f32_ = make_context<float>(dense_columns(schema, FloatType::f32), context_stride());
  context_f64_ = make_context<double>(dense_columns(schema, FloatType::f64), context_stride());
  if (schema.sparse) indptr_.assign(kBlockRows + 1, 0);
  if (!has_actions(schema)) return;
  switch (schema.action_kind) {
    case ActionKind::continuous:
      action_ = make_columns<double>(1);
      break;
    case ActionKind::categorical:
      category_ = make_columns<std::int32_t>(1);
      break;
    case ActionKind::multilabel:
      bits_ = make_columns<std::uint8_t>(schema.num_actions);
      break;
  }
  loss_ = make_columns<double>(loss_columns(schema));
  propensity_ = make_columns<double>(1);
  label_propensity_ = make_columns<double>(label_columns(schema));
  for (std::size_t i = 0; i < schema.targets.size(); ++i) {
    targets_.push_back(make_columns<double>(1));
    target_views_.push_back(targets_.back().get());
  }
  if (schema.model) {
    model_logged_ = make_columns<double>(1);
    for (const bool has_target : schema.model->targets) {
      model_targets_.push_back(has_target ? make_columns<double>(1) : AlignedArray<double>());
      model_views_.push_back(model_targets_.back().get());
    }
  }
  cluster_ = make_columns<std::int64_t>(cluster_columns(schema));
}

Block BlockBuffer::view(std::int64_t first_row, int rows) noexcept {
  Block block;
  block.first_row = first_row;
  block.rows = rows;
  block.action_kind = schema_.action_kind;
  block.features = schema_.features;
  block.replays = schema_.replays;
  block.context_type = schema_.sparse ? FloatType::f64 : schema_.context_type;
  if (schema_.sparse) {
    block.sparse = {indptr_.data(), indices_.data(), values_.data()};
  } else if (schema_.context_type == FloatType::f32) {
    block.context = context_f32_.get();
  } else {
    block.context = context_f64_.get();
  }
  block.action = action_.get();
  block.category = category_.get();
  block.bits = bits_.get();
  block.num_actions = schema_.num_actions;
  block.loss = loss_.get();
  const double*& propensity = schema_.propensity == PropensityForm::linear ? block.propensity : block.log_propensity;
  propensity = propensity_.get();
  block.label_propensity = label_propensity_.get();
  block.targets = target_views_.empty() ? nullptr : target_views_.data();
  block.num_targets = static_cast<int>(target_views_.size());
  block.model_logged = model_logged_.get();
  block.model_targets = model_views_.empty() ? nullptr : model_views_.data();
  block.cluster = cluster_.get();
  if (!in_place_) return block;
  const auto replace = [](const double*& list, const double* in_place) {
    if (in_place != nullptr) list = in_place;
  };
  if (in_place_->context_by_row != nullptr) block.context = nullptr;
  block.context_by_row = in_place_->context_by_row;
  replace(block.action, in_place_->action);
  replace(block.loss, in_place_->loss);
  replace(propensity, in_place_->propensity);
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    target_views_[t] = targets_[t].get();
    replace(target_views_[t], in_place_->targets[t]);
  }
  return block;
}

void BlockBuffer::allow_in_place(bool allowed) {
  in_place_.reset();
  for (std::size_t t = 0; t < targets_.size(); ++t) target_views_[t] = targets_[t].get();
  if (!allowed) return;
  in_place_ = std::make_unique<InPlace>();
  in_place_->targets.resize(targets_.size());
}

std::byte* BlockBuffer::context_rows() noexcept {
  assert(schema_.replays == 1);
  has_context_rows_ = true;
  return context_f32_ ? reinterpret_cast<std::byte*>(context_f32_.get())
                      : reinterpret_cast<std::byte*>(context_f64_.get());
}

void BlockBuffer::clear_context_rows() noexcept {
  if (!has_context_rows_) return;
  has_context_rows_ = false;
  const auto numbers = static_cast<std::size_t>(schema_.features * context_stride());
  if (context_f32_) std::memset(context_f32_.get(), 0, numbers * sizeof(float));
  if (context_f64_) std::memset(context_f64_.get(), 0, numbers * sizeof(double));
}

void BlockBuffer::leave_nothing_in_place() noexcept {
  if (!in_place_) return;
  in_place_->context_by_row = nullptr;
  in_place_->action = in_place_->loss = in_place_->propensity = nullptr;
  std::fill(in_place_->targets.begin(), in_place_->targets.end(), nullptr);
}

void BlockBuffer::copy_lists() noexcept {
  if (!in_place_) return;
  const auto copy = [](const double*& in_place, AlignedArray<double>& own) {
    if (in_place != nullptr) std::copy_n(in_place, kBlockRows, own.get());
    in_place = nullptr;
  };
  copy(in_place_->action, action_);
  copy(in_place_->loss, loss_);
  copy(in_place_->propensity, propensity_);
  for (std::size_t t = 0; t < targets_.size(); ++t) copy(in_place_->targets[t], targets_[t]);
}

void BlockBuffer::copy_rows(const Block& from, int begin, int count, int at) {
  const int labels = schema_.num_actions;
  copy_columns(from.action, action_.get(), 1, kBlockRows, begin, count, at);
  copy_columns(from.category, category_.get(), 1, kBlockRows, begin, count, at);
  copy_columns(from.bits, bits_.get(), labels, kBlockRows, begin, count, at);
  copy_columns(from.loss, loss_.get(), 1, kBlockRows, begin, count, at);
  copy_columns(from.log_propensity != nullptr ? from.log_propensity : from.propensity, propensity_.get(), 1, kBlockRows,
               begin, count, at);
  copy_columns(from.label_propensity, label_propensity_.get(), labels, kBlockRows, begin, count, at);
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    copy_columns(from.targets[t], targets_[t].get(), 1, kBlockRows, begin, count, at);
  }
  copy_columns(from.model_logged, model_logged_.get(), 1, kBlockRows, begin, count, at);
  for (std::size_t t = 0; t < model_targets_.size(); ++t) {
    copy_columns(from.model_targets[t], model_targets_[t].get(), 1, kBlockRows, begin, count, at);
  }
  // Rows of which nobody said where they belong would all become one cluster.
  assert(count == 0 || cluster_.get() == nullptr || from.cluster != nullptr);
  copy_columns(from.cluster, cluster_.get(), 1, kBlockRows, begin, count, at);
  begin /= schema_.replays;
  count /= schema_.replays;
  at /= schema_.replays;
  const std::int64_t stride = context_stride();
  copy_columns(static_cast<const float*>(context_f32_ ? from.context : nullptr), context_f32_.get(), from.features,
               stride, begin, count, at);
  copy_columns(static_cast<const double*>(context_f64_ ? from.context : nullptr), context_f64_.get(), from.features,
               stride, begin, count, at);
  if (!schema_.sparse) return;
  const std::int64_t first = from.sparse.indptr[begin], last = from.sparse.indptr[begin + count];
  const std::int64_t here = indptr_[static_cast<std::size_t>(at)];
  indices_.resize(static_cast<std::size_t>(here));
  values_.resize(static_cast<std::size_t>(here));
  indices_.insert(indices_.end(), from.sparse.indices + first, from.sparse.indices + last);
  values_.insert(values_.end(), from.sparse.values + first, from.sparse.values + last);
  std::int64_t* indptr = indptr_.data() + at;
  for (int i = 1; i <= count; ++i) indptr[i] = here + from.sparse.indptr[begin + i] - first;
}

int BlockBuffer::compact(const std::uint8_t* keep, int rows) noexcept {
  int kept = 0;
  for (int i = 0; i < rows; ++i) kept += keep[i] != 0;
  if (kept == rows) return rows;
  compact_columns(context_f32_.get(), schema_.features, keep, rows);
  compact_columns(context_f64_.get(), schema_.features, keep, rows);
  compact_columns(action_.get(), 1, keep, rows);
  compact_columns(category_.get(), 1, keep, rows);
  compact_columns(bits_.get(), schema_.num_actions, keep, rows);
  compact_columns(loss_.get(), 1, keep, rows);
  compact_columns(propensity_.get(), 1, keep, rows);
  compact_columns(label_propensity_.get(), schema_.num_actions, keep, rows);
  for (AlignedArray<double>& target : targets_) compact_columns(target.get(), 1, keep, rows);
  compact_columns(model_logged_.get(), 1, keep, rows);
  for (AlignedArray<double>& target : model_targets_) compact_columns(target.get(), 1, keep, rows);
  compact_columns(cluster_.get(), 1, keep, rows);
  if (schema_.sparse) {
    std::int64_t entry = 0;
    std::int64_t begin = indptr_[0];
    int row = 0;
    for (int i = 0; i < rows; ++i) {
      const std::int64_t end = indptr_[static_cast<std::size_t>(i) + 1];
      if (keep[i] != 0) {
        for (std::int64_t e = begin; e < end; ++e, ++entry) {
          indices_[static_cast<std::size_t>(entry)] = indices_[static_cast<std::size_t>(e)];
          values_[static_cast<std::size_t>(entry)] = values_[static_cast<std::size_t>(e)];
        }
        indptr_[static_cast<std::size_t>(++row)] = entry;
      }
      begin = end;
    }
  }
  return kept;
}

std::size_t BlockBuffer::bytes() const noexcept {
  return block_buffer_bytes(schema_) + indices_.capacity() * sizeof(std::int32_t) + values_.capacity() * sizeof(double);
}

std::size_t block_buffer_bytes(const Schema& schema) noexcept {
  std::size_t row = 0;
  row += static_cast<std::size_t>(dense_columns(schema, FloatType::f32)) * sizeof(float);
  row += static_cast<std::size_t>(dense_columns(schema, FloatType::f64)) * sizeof(double);
  const std::size_t context = row * static_cast<std::size_t>(context_stride(schema.replays)) +
                              (row > 0 ? kPageBytes : 0) + (schema.sparse ? sizeof(std::int64_t) * kBlockRows : 0);
  row = 0;
  if (!has_actions(schema)) return context;
  row += static_cast<std::size_t>(1 + loss_columns(schema)) * sizeof(double);  // with the propensity
  switch (schema.action_kind) {
    case ActionKind::continuous:
      row += sizeof(double);
      break;
    case ActionKind::categorical:
      row += sizeof(std::int32_t);
      break;
    case ActionKind::multilabel:
      row += static_cast<std::size_t>(schema.num_actions);
      break;
  }
  row += static_cast<std::size_t>(label_columns(schema)) * sizeof(double);
  row += schema.targets.size() * sizeof(double);
  row += static_cast<std::size_t>(model_columns(schema)) * sizeof(double);
  row += static_cast<std::size_t>(cluster_columns(schema)) * sizeof(std::int64_t);
  return context + row * kBlockRows;
}

}  // namespace scrm
