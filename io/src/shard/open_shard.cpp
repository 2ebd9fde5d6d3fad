#include "shard/open_shard.hpp"

#include <fmt/format.h>

#include "shard/rows/memory_rows.hpp"
#include "shard/shard_header.hpp"

namespace scrm {

OpenShard::OpenShard(Hdf5File& file, const Schema& schema, std::int64_t rows, std::span<const MemoryArray> beside)
    : file_(file) {
  if (schema.sparse) {
    indptr_ = open("context/indptr", rows + 1, 1);
    indices_ = StoredArray(file_, "context/indices");
    values_ = open("context/values", indices_->rows(), 1);
  } else if (schema.features > 0) {
    context_ = open("context", rows, schema.features);
    if (schema.context_type == FloatType::f32 && context_->element() != Element::f32) {
      throw Error(ErrorKind::data, "has changed its type since the data set was opened", {*file_.path(), "context"});
    }
  }
  if (schema.stage == RowStage::contexts) return;
  const bool multilabel = schema.action_kind == ActionKind::multilabel;
  action_ = open("action", rows, multilabel ? schema.num_actions : 1);
  loss_ = open("loss", rows, 1);
  if (schema.propensity != PropensityForm::label_product) {
    propensity_ = open(schema.propensity == PropensityForm::linear ? "propensity" : "log_propensity", rows, 1);
  }
  if (schema.label_propensity) label_propensity_ = open("label_propensity", rows, schema.num_actions);
  for (const std::string& name : outside_datasets(schema)) {
    outside_.emplace_back();
    if (find_array(beside, name) == nullptr) outside_.back() = open(name, rows, 1);
  }
  if (schema.cluster) cluster_ = open("cluster", rows, 1);
}

StoredArray OpenShard::open(const std::string& name, std::int64_t rows, std::int64_t width) const {
  StoredArray array(file_, name);
  if (array.rows() != rows || array.width() != width) {
    throw Error(ErrorKind::data,
                fmt::format("was {} x {} when the data set was opened and is {} x {} now: it is being written to", rows,
                            width, array.rows(), array.width()),
                {.file = *file_.path(), .dataset = name});
  }
  return array;
}

ShardSlice OpenShard::fetch(std::int64_t first, std::int64_t rows) {
  file_.require_unchanged();
  ShardSlice slice;
  slice.path = file_.path();
  slice.row_in_file = first;
  slice.rows = rows;
  slice.arrays.resize(kOutside + outside_.size());
  if (context_) slice.arrays[kContext] = context_->fetch(file_, first, rows);
  if (indptr_) {
    slice.offsets = indptr_->read_offsets(file_, first, rows, indices_->rows());
    const std::int64_t begin = slice.offsets.front();
    const std::int64_t entries = slice.offsets.back() - begin;
    slice.arrays[kIndices] = indices_->fetch(file_, begin, entries);
    slice.arrays[kValues] = values_->fetch(file_, begin, entries);
  }
  if (action_) slice.arrays[kAction] = action_->fetch(file_, first, rows);
  if (loss_) slice.arrays[kLoss] = loss_->fetch(file_, first, rows);
  if (propensity_) slice.arrays[kPropensity] = propensity_->fetch(file_, first, rows);
  if (label_propensity_) slice.arrays[kLabelPropensity] = label_propensity_->fetch(file_, first, rows);
  if (cluster_) slice.arrays[kCluster] = cluster_->fetch(file_, first, rows);
  for (std::size_t i = 0; i < outside_.size(); ++i) {
    if (outside_[i]) slice.arrays[kOutside + i] = outside_[i]->fetch(file_, first, rows);
  }
  return slice;
}

}  // namespace scrm
