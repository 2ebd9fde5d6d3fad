#include "arrays.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "array/element.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

Element element_of(const py::array& array, const std::string& name) {
  const py::dtype type = array.dtype();
  const char kind = type.kind();
  const auto size = type.itemsize();
  const bool native = type.byteorder() == '=' || type.byteorder() == '|';
  if (native && kind == 'f' && size == 4) return Element::f32;
  if (native && kind == 'f' && size == 8) return Element::f64;
  if (native && kind == 'b') return Element::u8;
  if (native && (kind == 'i' || kind == 'u')) {
    const bool is_signed = kind == 'i';
    if (size == 1) return is_signed ? Element::i8 : Element::u8;
    if (size == 2) return is_signed ? Element::i16 : Element::u16;
    if (size == 4) return is_signed ? Element::i32 : Element::u32;
    if (size == 8) return is_signed ? Element::i64 : Element::u64;
  }
  throw Error(ErrorKind::data,
              fmt::format("has the type {}, which is no column of numbers; convert it first, for instance with "
                          ".astype(float)",
                          py::str(static_cast<py::handle>(type)).cast<std::string>()),
              {.dataset = name});
}

/// The tiles of an array of one or two dimensions: one where the numbers of a row are neighbours, else one a column.
void add_tiles(const py::array& array, MemoryArray& out) {
  const Element element = element_of(array, out.name);
  const auto* data = static_cast<const std::byte*>(array.data());
  const auto stride = [&](int dimension) { return static_cast<std::size_t>(array.strides(dimension)); };
  const std::int64_t columns = array.ndim() == 2 ? array.shape(1) : 1;
  if (columns == 0) return;
  const bool row_major = array.ndim() == 1 || columns == 1 || stride(1) == static_cast<std::size_t>(array.itemsize());
  if (row_major) {
    out.tiles.push_back({element, data, stride(0), columns});
    return;
  }
  for (std::int64_t j = 0; j < columns; ++j)
    out.tiles.push_back({element, data + static_cast<std::size_t>(j) * stride(1), stride(0), 1});
}

/// An array, or a list of columns.
MemoryArray memory_array(const std::string& name, const py::handle& value) {
  MemoryArray out;
  out.name = name;
  if (py::isinstance<py::array>(value)) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    out.rows = array.ndim() > 0 ? array.shape(0) : 0;
    out.rank = static_cast<int>(array.ndim());
    if (out.rank != 1 && out.rank != 2)
      throw Error(ErrorKind::data, fmt::format("has {} dimensions, a column has one and a table two", out.rank),
                  {.dataset = name});
    add_tiles(array, out);
    return out;
  }
  out.rank = 2;
  bool first = true;
  for (const py::handle column : py::reinterpret_borrow<py::list>(value)) {
    const auto array = py::reinterpret_borrow<py::array>(column);
    if (!first && array.shape(0) != out.rows)
      throw Error(ErrorKind::data, fmt::format("has columns of {} and of {} rows", out.rows, array.shape(0)),
                  {.dataset = name});
    out.rows = array.shape(0);
    first = false;
    add_tiles(array, out);
  }
  return out;
}

std::vector<MemoryArray> memory_arrays(const py::dict& arrays) {
  std::vector<MemoryArray> out;
  for (const auto& [name, value] : arrays) out.push_back(memory_array(name.cast<std::string>(), value));
  return out;
}

ActionKind action_kind(const std::string& name) {
  for (const ActionKind kind : {ActionKind::continuous, ActionKind::categorical, ActionKind::multilabel}) {
    if (name == to_string(kind)) return kind;
  }
  throw Error(ErrorKind::usage,
              fmt::format("action_kind is '{}', but must be continuous, categorical or multilabel", name));
}

MemoryShard memory_shard(const py::dict& shard) {
  MemoryShard out;
  out.action_kind = action_kind(shard["action_kind"].cast<std::string>());
  out.num_actions = shard["num_actions"].cast<int>();
  out.rollout = shard["rollout"].cast<int>();
  if (!shard["outcome"].is_none())
    out.outcome = shard["outcome"].cast<std::string>() == "reward" ? Outcome::reward : Outcome::loss;
  out.context_columns = shard["context_columns"].cast<std::vector<std::string>>();
  out.action_names = shard["action_names"].cast<std::vector<std::string>>();
  out.sparse_features = shard["sparse_features"].cast<std::int64_t>();
  out.arrays = memory_arrays(shard["arrays"].cast<py::dict>());
  return out;
}

}  // namespace

Rows::Rows(const py::dict& rows) {
  if (rows.contains("paths")) {
    paths = rows["paths"].cast<std::vector<std::string>>();
    reward = rows["reward"].cast<bool>();
    if (rows.contains("beside")) beside = memory_arrays(rows["beside"].cast<py::dict>());
    return;
  }
  for (const py::handle shard : rows["shards"].cast<py::list>()) shards.push_back(memory_shard(shard.cast<py::dict>()));
}

Dataset Rows::open(ReadOptions options) const {
  if (!shards.empty()) return Dataset(shards, options);
  options.reward = options.reward || reward;
  return Dataset(paths, options, beside);
}

}  // namespace scrm::python
