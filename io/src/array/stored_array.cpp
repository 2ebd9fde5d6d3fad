#include "array/stored_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace scrm {
namespace {

// HDF5 1.10 walks all chunks to find one chunk's address: beyond this many, HDF5 itself reads their bytes.
constexpr std::int64_t kMaxLocatedChunks = 2048;
// HDF5's own cache, for what it reads itself: one row of chunks if that is not too much.
constexpr std::size_t kMaxHdf5Cache = std::size_t{64} << 20;

std::optional<Element> file_element(hid_t type) {
  const std::array<std::pair<hid_t, Element>, 10> known = {{{H5T_NATIVE_DOUBLE, Element::f64},
                                                            {H5T_NATIVE_FLOAT, Element::f32},
                                                            {H5T_NATIVE_INT64, Element::i64},
                                                            {H5T_NATIVE_INT32, Element::i32},
                                                            {H5T_NATIVE_INT16, Element::i16},
                                                            {H5T_NATIVE_INT8, Element::i8},
                                                            {H5T_NATIVE_UINT64, Element::u64},
                                                            {H5T_NATIVE_UINT32, Element::u32},
                                                            {H5T_NATIVE_UINT16, Element::u16},
                                                            {H5T_NATIVE_UINT8, Element::u8}}};
  for (const auto& [native, element] : known) {
    if (H5Tequal(type, native) > 0) return element;
  }
  return std::nullopt;
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

}  // namespace

void MemoryCost::add(const MemoryCost& other) noexcept {
  fixed += other.fixed;
  per_row += other.per_row;
  total += other.total;
}

StoredArray::StoredArray(const Hdf5File& file, const std::string& name) : name_(name) {
  dataset_ = hdf5::Handle(H5Dopen2(file.handle.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset_.valid()) hdf5::fail(ErrorKind::data, "cannot open the dataset", place(file));
  read_type(file);
  read_shape(file);
  read_storage(file);
}

StoredArray::~StoredArray() {
  if (!dataset_.valid()) return;
  const hdf5::Lock lock;
  dataset_.reset();
}

void StoredArray::read_type(const Hdf5File& file) {
  hdf5::Handle type(H5Dget_type(dataset_.get()), H5Tclose);
  if (!type.valid()) hdf5::fail(ErrorKind::data, "cannot tell its type", place(file));
  H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class == H5T_ENUM) {  // NumPy's bool, as h5py stores it
    enumeration_ = true;
    type = hdf5::Handle(H5Tget_super(type.get()), H5Tclose);
    type_class = H5T_INTEGER;
  }
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT) {
    throw Error(ErrorKind::data, fmt::format("holds {}, numbers are needed", class_name(type_class)), place(file));
  }
  if (const auto element = file_element(type.get())) {
    element_ = *element;
    return;
  }
  native_ = false;
  if (type_class == H5T_FLOAT) {
    element_ = H5Tget_precision(type.get()) == 32 ? Element::f32 : Element::f64;
    return;
  }
  const bool is_signed = H5Tget_sign(type.get()) != H5T_SGN_NONE;
  switch (H5Tget_size(type.get())) {
    case 1:
      element_ = is_signed ? Element::i8 : Element::u8;
      native_ = H5Tget_precision(type.get()) == 8;  // a byte has no order
      break;
    case 2:
      element_ = is_signed ? Element::i16 : Element::u16;
      break;
    case 4:
      element_ = is_signed ? Element::i32 : Element::u32;
      break;
    default:
      element_ = is_signed ? Element::i64 : Element::u64;
  }
}

void StoredArray::read_shape(const Hdf5File& file) {
  const hdf5::Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  rank_ = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank_ < 0) hdf5::fail(ErrorKind::data, "cannot tell its shape", place(file));
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL || rank_ < 1 || rank_ > 2) {
    throw Error(ErrorKind::data, fmt::format("has {} dimensions, one or two are needed", rank_), place(file));
  }
  hsize_t extent[2] = {0, 1};
  H5Sget_simple_extent_dims(space.get(), extent, nullptr);
  rows_ = static_cast<std::int64_t>(extent[0]);
  width_ = rank_ == 2 ? static_cast<std::int64_t>(extent[1]) : 1;
}

/// Whether the pipeline is one that is undone here: shuffle, then deflate, either of them left out or not.
bool StoredArray::read_filters(hid_t creation) {
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    char name[2] = {};
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof(name), name, nullptr);
    if (filter == H5Z_FILTER_SHUFFLE && shuffle_filter_ < 0 && deflate_filter_ < 0) {
      shuffle_filter_ = i;
    } else if (filter == H5Z_FILTER_DEFLATE && deflate_filter_ < 0) {
      deflate_filter_ = i;
    } else {
      return false;
    }
  }
  return count >= 0;
}

/// Throws when HDF5 itself lacks a filter of the pipeline.
void StoredArray::require_filters(const Hdf5File& file, hid_t creation) const {
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    char name[64] = {};
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof(name), name, nullptr);
    if (H5Zfilter_avail(filter) > 0) continue;
    name[sizeof(name) - 1] = '\0';
    throw Error(ErrorKind::data,
                fmt::format("is stored with the filter {} (number {}), which this HDF5 library does not have; store it "
                            "with gzip or without compression",
                            name, filter),
                place(file));
  }
}

void StoredArray::read_storage(const Hdf5File& file) {
  const hdf5::Handle creation(H5Dget_create_plist(dataset_.get()), H5Pclose);
  if (!creation.valid()) hdf5::fail(ErrorKind::data, "cannot tell how it is stored", place(file));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_CONTIGUOUS) {
    const haddr_t address = H5Dget_offset(dataset_.get());
    if (native_ && file.has_file_addresses && address != HADDR_UNDEF && H5Pget_external_count(creation.get()) == 0) {
      storage_ = Storage::contiguous;
      address_ = address;
    }
    return;
  }
  if (layout != H5D_CHUNKED) return;
  hsize_t chunk[2] = {1, 1};
  H5Pget_chunk(creation.get(), 2, chunk);
  chunk_rows_ = static_cast<std::int64_t>(chunk[0]);
  chunk_columns_ = rank_ == 2 ? static_cast<std::int64_t>(chunk[1]) : 1;
  unsigned options = 0;
  H5Pget_chunk_opts(creation.get(), &options);
  if (native_ && options == 0 && read_filters(creation.get())) {
    const std::int64_t chunks = (rows_ + chunk_rows_ - 1) / chunk_rows_ * chunks_across();
    const bool filtered = shuffle_filter_ >= 0 || deflate_filter_ >= 0;
    located_ = file.has_file_addresses && chunks <= kMaxLocatedChunks;
    storage_ = !filtered && located_ ? Storage::plain_chunks : Storage::encoded_chunks;
    return;
  }
  require_filters(file, creation.get());
  const auto row_of_chunks = chunk_bytes() * static_cast<std::size_t>(chunks_across());
  stored_chunk_bytes_ = static_cast<std::int64_t>(std::min(row_of_chunks, kMaxHdf5Cache));
  const hdf5::Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), 1009, static_cast<std::size_t>(stored_chunk_bytes_) + (std::size_t{1} << 20), 1.0);
  hdf5::Handle again(H5Dopen2(file.handle.get(), name_.c_str(), access.get()), H5Dclose);
  if (again.valid()) dataset_ = std::move(again);
}

MemoryCost StoredArray::memory_cost() const noexcept {
  constexpr double kTileOverhead = 512;  // what remembers where its bytes are
  constexpr double kMostAtOnce = kMinDeferred;
  MemoryCost cost;
  if (storage_ == Storage::encoded_chunks) {
    // Raw and decoded bytes of a chunk do not stay together for long, but a badly compressed chunk is the larger of
    // the two by a little. A chunk at either end reaches outside; one is being decoded through scratch memory.
    constexpr double kRawExcess = 1.125;
    const double across = static_cast<double>(chunks_across());
    const double one = static_cast<double>(chunk_bytes());
    const double band = (kRawExcess * one + kTileOverhead) * across;
    cost.per_row = band / static_cast<double>(chunk_rows_);
    cost.fixed = 2 * band + 2 * one;
    const auto bands = static_cast<double>((rows_ + chunk_rows_ - 1) / chunk_rows_);
    cost.total = bands * band + 2 * one;
    return cost;
  }
  if (storage_ == Storage::plain_chunks) {
    // Chunks that are read later hold no memory; what is cut off at either end of a range may be short.
    const double across = static_cast<double>(chunks_across());
    const double whole = chunk_bytes() < kMinDeferred ? static_cast<double>(chunk_bytes()) : 0;
    cost.per_row = (whole + kTileOverhead) * across / static_cast<double>(chunk_rows_);
    cost.fixed = 2 * (kMostAtOnce + kTileOverhead) * across;
  } else if (storage_ == Storage::contiguous) {
    cost.fixed = kMostAtOnce + kTileOverhead;
  } else {
    cost.per_row = static_cast<double>(row_bytes());
    cost.fixed = kTileOverhead + static_cast<double>(stored_chunk_bytes_);
  }
  cost.total = cost.fixed + cost.per_row * static_cast<double>(rows_);
  if (storage_ == Storage::contiguous) {
    cost.total = std::min(cost.total, static_cast<double>(rows_) * static_cast<double>(row_bytes()) + kTileOverhead);
  } else if (storage_ == Storage::plain_chunks) {
    const auto bands = static_cast<double>((rows_ + chunk_rows_ - 1) / chunk_rows_);
    const double band = (static_cast<double>(chunk_bytes()) + kTileOverhead) * static_cast<double>(chunks_across());
    cost.total = std::min(cost.total, bands * band);
  }
  return cost;
}

}  // namespace scrm
