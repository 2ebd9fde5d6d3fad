#include "array/array_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "file/fields.hpp"

namespace scrm::hdf5 {
namespace {

// HDF5 1.10 walks all chunks to find one chunk's address: beyond this many, HDF5 itself reads their bytes.
constexpr std::int64_t kMaxLocatedChunks = 2048;
// HDF5's own cache, for what it reads itself: one row of chunks if that is not too much.
constexpr std::size_t kMaxHdf5Cache = std::size_t{64} << 20;

/// A number type of files and how it is read; `native` when its bytes are the machine's.
struct KnownType {
  hid_t type;
  Element element;
  bool native;
};

/// The two-byte floats of graphics cards, which HDF5 has no name for.
Handle half_type(H5T_order_t order) {
  Handle type(H5Tcopy(order == H5T_ORDER_LE ? H5T_IEEE_F32LE : H5T_IEEE_F32BE), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

/// Only types that somebody writes: a damaged one converts to other numbers without a word.
std::optional<KnownType> known_type(hid_t type) {
  const KnownType known[] = {
      {H5T_IEEE_F64LE, Element::f64, true},      {H5T_IEEE_F32LE, Element::f32, true},
      {H5T_STD_I64LE, Element::i64, true},       {H5T_STD_I32LE, Element::i32, true},
      {H5T_STD_I16LE, Element::i16, true},       {H5T_STD_I8LE, Element::i8, true},
      {H5T_STD_U64LE, Element::u64, true},       {H5T_STD_U32LE, Element::u32, true},
      {H5T_STD_U16LE, Element::u16, true},       {H5T_STD_U8LE, Element::u8, true},
      {H5T_STD_I8BE, Element::i8, true},         {H5T_STD_U8BE, Element::u8, true},  // a byte has no order
      {H5T_IEEE_F64BE, Element::f64, false},     {H5T_IEEE_F32BE, Element::f32, false},
      {H5T_STD_I64BE, Element::i64, false},      {H5T_STD_I32BE, Element::i32, false},
      {H5T_STD_I16BE, Element::i16, false},      {H5T_STD_U64BE, Element::u64, false},
      {H5T_STD_U32BE, Element::u32, false},      {H5T_STD_U16BE, Element::u16, false},
      {H5T_NATIVE_LDOUBLE, Element::f64, false},
  };
  for (const KnownType& candidate : known) {
    if (H5Tequal(type, candidate.type) > 0) return candidate;
  }
  for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
    const Handle half = half_type(order);
    if (H5Tequal(type, half.get()) > 0) return KnownType{type, Element::f64, false};
  }
  return std::nullopt;
}

hid_t memory_type(Element element) {
  switch (element) {
    case Element::i8:
      return H5T_NATIVE_INT8;
    case Element::i16:
      return H5T_NATIVE_INT16;
    case Element::i32:
      return H5T_NATIVE_INT32;
    case Element::i64:
      return H5T_NATIVE_INT64;
    case Element::u8:
      return H5T_NATIVE_UINT8;
    case Element::u16:
      return H5T_NATIVE_UINT16;
    case Element::u32:
      return H5T_NATIVE_UINT32;
    case Element::u64:
      return H5T_NATIVE_UINT64;
    case Element::f32:
      return H5T_NATIVE_FLOAT;
    case Element::f64:
      break;
  }
  return H5T_NATIVE_DOUBLE;
}

const char* class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_STRING:
      return "strings";
    case H5T_COMPOUND:
      return "compound values";
    case H5T_VLEN:
      return "lists of varying length";
    case H5T_ARRAY:
      return "arrays";
    case H5T_REFERENCE:
      return "references";
    default:
      return "values of a type unknown here";
  }
}

/// The type of the numbers: of an enumeration (NumPy's bool, as h5py stores it) that of its values.
KnownType read_type(hid_t dataset, const Place& place) {
  Handle type(H5Dget_type(dataset), H5Tclose);
  if (!type.valid()) fail(ErrorKind::data, "cannot tell its type", place);
  if (H5Tget_class(type.get()) == H5T_ENUM) type = Handle(H5Tget_super(type.get()), H5Tclose);
  const H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT)
    throw Error(ErrorKind::data, fmt::format("holds {}, numbers are needed", class_name(type_class)), place);
  if (const auto known = known_type(type.get())) return *known;
  throw Error(ErrorKind::data,
              fmt::format("holds {} of {} bytes in no form that is known here: store them as float32, float64 or "
                          "integers of 1 to 8 bytes (or the file is damaged)",
                          type_class == H5T_FLOAT ? "floating-point numbers" : "integers", H5Tget_size(type.get())),
              place);
}

void read_shape(hid_t dataset, ArrayFacts& facts, const Place& place) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  facts.rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (facts.rank < 0) fail(ErrorKind::data, "cannot tell its shape", place);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL || facts.rank < 1 || facts.rank > 2)
    throw Error(ErrorKind::data, fmt::format("has {} dimensions, one or two are needed", facts.rank), place);
  hsize_t extent[2] = {0, 1};
  H5Sget_simple_extent_dims(space.get(), extent, nullptr);
  const auto limited = [](hsize_t length) {
    return static_cast<std::int64_t>(std::min<hsize_t>(length, std::numeric_limits<std::int64_t>::max()));
  };
  facts.rows = limited(extent[0]);
  facts.width = facts.rank == 2 ? limited(extent[1]) : 1;
}

/// Whether the pipeline is one that is undone here: shuffle, then deflate, either of them left out or not. Throws when
/// HDF5 lacks a filter.
bool read_filters(hid_t creation, std::size_t size, ArrayFacts& facts, const Place& place) {
  bool ours = true;
  facts.filters = std::max(0, H5Pget_nfilters(creation));
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0;
    unsigned values[8] = {};
    std::size_t count = std::size(values);
    char name[64] = {};
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &count, values, sizeof(name), name, nullptr);
    if (filter == H5Z_FILTER_SHUFFLE && (count != 1 || values[0] != size))
      throw Error(ErrorKind::data,
                  fmt::format("claims numbers of {} bytes, but has {}: the file is damaged", values[0], size), place);
    if (filter == H5Z_FILTER_SHUFFLE && facts.shuffle_filter < 0 && facts.deflate_filter < 0) {
      facts.shuffle_filter = i;
    } else if (filter == H5Z_FILTER_DEFLATE && facts.deflate_filter < 0) {
      facts.deflate_filter = i;
    } else {
      ours = false;
      if (H5Zfilter_avail(filter) > 0) continue;
      name[sizeof(name) - 1] = '\0';
      throw Error(ErrorKind::data,
                  fmt::format("is stored with the filter {} (number {}), which this HDF5 library does not have; store "
                              "it with gzip or without compression",
                              name, filter),
                  place);
    }
  }
  return ours;
}

void locate_chunks(hid_t dataset, ArrayFacts& facts, const Place& place) {
  for (std::int64_t down = 0; down < facts.chunks_down(); ++down) {
    for (std::int64_t across = 0; across < facts.chunks_across(); ++across) {
      const hsize_t corner[2] = {static_cast<hsize_t>(down * facts.chunk_rows),
                                 static_cast<hsize_t>(across * facts.chunk_columns)};
      unsigned skipped = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t bytes = 0;
      if (H5Dget_chunk_info_by_coord(dataset, corner, &skipped, &address, &bytes) < 0)
        fail(ErrorKind::data, fmt::format("the chunk at row {} cannot be found", corner[0]), place);
      if (address == HADDR_UNDEF) address = bytes = 0;
      // Where HDF5 itself is to read it, its search must find what its walk has found: else it makes up numbers.
      hsize_t found = 0;
      if (facts.storage == Storage::by_hdf5 && bytes != 0 &&
          (H5Dget_chunk_storage_size(dataset, corner, &found) < 0 || found != bytes))
        throw Error(ErrorKind::data, fmt::format("the chunk at row {} cannot be found: the file is damaged", corner[0]),
                    place);
      facts.chunks.push_back(static_cast<std::int64_t>(address));
      facts.chunks.push_back(static_cast<std::int64_t>(std::min<hsize_t>(bytes, std::int64_t{1} << 62)));
      facts.chunks.push_back(skipped);
    }
  }
}

void read_chunking(hid_t dataset, hid_t creation, bool by_address, bool native, ArrayFacts& facts, const Place& place) {
  hsize_t chunk[2] = {1, 1};
  if (H5Pget_chunk(creation, 2, chunk) != facts.rank) fail(ErrorKind::data, "cannot tell its chunks", place);
  facts.chunk_rows = static_cast<std::int64_t>(chunk[0]);
  facts.chunk_columns = facts.rank == 2 ? static_cast<std::int64_t>(chunk[1]) : 1;
  if (facts.chunk_rows < 1 || facts.chunk_columns < 1)
    throw Error(ErrorKind::data, "claims chunks without rows: the file is damaged", place);
  unsigned options = 0;
  H5Pget_chunk_opts(creation, &options);
  const Handle stored(H5Dget_type(dataset), H5Tclose);
  const bool ours = read_filters(creation, H5Tget_size(stored.get()), facts, place);
  if (native && options == 0 && ours) {
    const double chunks = static_cast<double>(facts.chunks_down()) * static_cast<double>(facts.chunks_across());
    const bool filtered = facts.shuffle_filter >= 0 || facts.deflate_filter >= 0;
    facts.located = by_address && chunks <= static_cast<double>(kMaxLocatedChunks);
    facts.storage = !filtered && facts.located ? Storage::plain_chunks : Storage::encoded_chunks;
    if (facts.located) locate_chunks(dataset, facts, place);
    return;
  }
  // For their addresses to be checked, though HDF5 reads them.
  facts.located = by_address && static_cast<double>(facts.chunks_down()) * static_cast<double>(facts.chunks_across()) <=
                                    static_cast<double>(kMaxLocatedChunks);
  if (facts.located) locate_chunks(dataset, facts, place);
  const double row_of_chunks = static_cast<double>(facts.chunk_rows) * static_cast<double>(facts.chunk_columns) *
                               static_cast<double>(element_size(facts.element)) *
                               static_cast<double>(facts.chunks_across());
  facts.hdf5_cache = static_cast<std::int64_t>(std::min<double>(row_of_chunks, kMaxHdf5Cache));
}

/// HDF5 would make up numbers for rows that are not there.
void require_written(hid_t dataset, const ArrayFacts& facts, const Place& place) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  hsize_t chunks = 0;
  const bool written = facts.chunk_rows == 0
                           ? H5Dget_storage_size(dataset) > 0
                           : H5Dget_num_chunks(dataset, space.get(), &chunks) >= 0 &&
                                 static_cast<double>(chunks) >= static_cast<double>(facts.chunks_down()) *
                                                                    static_cast<double>(facts.chunks_across());
  if (written) return;
  H5Eclear2(H5E_DEFAULT);
  throw Error(ErrorKind::data, "has rows that were never written: write them, zeros included (or the file is damaged)",
              place);
}

}  // namespace

Handle open_dataset(hid_t file, const Place& place) {
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), 1009, kMaxHdf5Cache + (std::size_t{1} << 20), 1.0);
  Handle dataset(H5Dopen2(file, place.dataset.c_str(), access.get()), H5Dclose);
  if (!dataset.valid()) fail(ErrorKind::data, "cannot open the dataset", place);
  return dataset;
}

ArrayFacts read_facts(hid_t dataset, bool has_file_addresses, const Place& place) {
  ArrayFacts facts;
  facts.name = place.dataset;
  const KnownType type = read_type(dataset, place);
  facts.element = type.element;
  read_shape(dataset, facts, place);
  H5O_info_t info;
  if (H5Oget_info2(dataset, &info, H5O_INFO_BASIC) < 0) fail(ErrorKind::data, "cannot be looked up", place);
  // Behind a user block it is no address of the file.
  facts.object = static_cast<std::int64_t>(info.addr) * (has_file_addresses ? 1 : -1);

  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  if (!creation.valid()) fail(ErrorKind::data, "cannot tell how it is stored", place);
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  facts.elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0;
  if (layout == H5D_CONTIGUOUS) {
    const haddr_t address = H5Dget_offset(dataset);
    if (address != HADDR_UNDEF && !facts.elsewhere) {  // counted from the beginning of the file, user block or not
      if (type.native) facts.storage = Storage::contiguous;
      facts.address = static_cast<std::int64_t>(address);
      facts.stored_bytes = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
    }
  } else if (layout == H5D_CHUNKED) {
    read_chunking(dataset, creation.get(), has_file_addresses, type.native, facts, place);
  }
  if (facts.storage == Storage::by_hdf5 && !facts.elsewhere && facts.rows > 0 && facts.width > 0)
    require_written(dataset, facts, place);
  return facts;
}

std::string read_rows(hid_t dataset, std::int64_t first, std::int64_t rows, const Place& place) {
  ArrayFacts facts;
  facts.element = read_type(dataset, place).element;
  read_shape(dataset, facts, place);
  if (first < 0 || rows < 0 || rows > facts.rows - first)
    throw Error(ErrorKind::run, fmt::format("has no rows {} to {}", first, first + rows - 1), place);
  std::string bytes(static_cast<std::size_t>(rows) * facts.row_bytes(), '\0');
  if (bytes.empty()) return bytes;
  const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(facts.width)};
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Handle memory(H5Screate_simple(static_cast<int>(facts.rank), count, nullptr), H5Sclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  // HDF5 converts an enumeration only to its like.
  const Handle like_file(H5Tget_class(type.get()) == H5T_ENUM ? H5Tget_native_type(type.get(), H5T_DIR_ASCEND) : -1,
                         H5Tclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
      H5Dread(dataset, like_file.valid() ? like_file.get() : memory_type(facts.element), memory.get(), space.get(),
              H5P_DEFAULT, bytes.data()) < 0)
    fail(ErrorKind::data, fmt::format("rows {} to {} cannot be read", first, first + rows - 1), place);
  return bytes;
}

std::string read_chunks(hid_t dataset, std::int64_t first, std::int64_t count, std::int64_t file_bytes,
                        const Place& place) {
  ArrayFacts facts;
  read_shape(dataset, facts, place);
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  hsize_t chunk[2] = {1, 1};
  if (H5Pget_chunk(creation.get(), 2, chunk) != facts.rank || chunk[0] < 1 || chunk[1] < 1)
    fail(ErrorKind::data, "cannot tell its chunks", place);
  facts.chunk_rows = static_cast<std::int64_t>(chunk[0]);
  facts.chunk_columns = facts.rank == 2 ? static_cast<std::int64_t>(chunk[1]) : 1;
  std::string bytes;
  for (std::int64_t index = first; index < first + count; ++index) {
    const std::int64_t row = index / facts.chunks_across() * facts.chunk_rows;
    const hsize_t corner[2] = {static_cast<hsize_t>(row),
                               static_cast<hsize_t>(index % facts.chunks_across() * facts.chunk_columns)};
    hsize_t stored = 0;
    if (H5Dget_chunk_storage_size(dataset, corner, &stored) < 0 || stored == 0)
      fail(ErrorKind::data, fmt::format("row {} and others after it were never written, or cannot be found", row),
           place);
    if (stored > static_cast<hsize_t>(file_bytes))
      throw Error(ErrorKind::data,
                  fmt::format("the chunk at row {} claims {} bytes in a file of {}: the file is damaged", row, stored,
                              file_bytes),
                  place);
    const std::size_t head = bytes.size();
    bytes.resize(head + 2 * sizeof(std::uint64_t) + stored);
    std::uint32_t skipped = 0;
    if (H5Dread_chunk(dataset, H5P_DEFAULT, corner, &skipped, bytes.data() + head + 2 * sizeof(std::uint64_t)) < 0)
      fail(ErrorKind::data, fmt::format("the chunk at row {} cannot be read", row), place);
    std::string numbers;
    put_u64(numbers, skipped);
    put_u64(numbers, stored);
    bytes.replace(head, numbers.size(), numbers);
  }
  return bytes;
}

}  // namespace scrm::hdf5
