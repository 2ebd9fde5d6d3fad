#include "array/chunked_dataset.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "array/chunk_filters.hpp"

namespace scrm {
namespace {

/// The file's type: little-endian on every machine.
hid_t type_of(Element element) {
  switch (element) {
    case Element::u8:
      return H5T_STD_U8LE;
    case Element::i32:
      return H5T_STD_I32LE;
    case Element::i64:
      return H5T_STD_I64LE;
    case Element::f32:
      return H5T_IEEE_F32LE;
    case Element::f64:
      return H5T_IEEE_F64LE;
    default:
      return H5I_INVALID_HID;  // shards have no such column
  }
}

// Recorded in the file for whoever writes more chunks; the bytes we write come from libdeflate.
constexpr unsigned kRecordedLevel = 4;

// A chunk is read, inflated and held whole: this many bytes keeps a few of them per thread affordable.
constexpr std::int64_t kLargestChunk = std::int64_t{16} << 20;
constexpr std::int64_t kDefaultChunkRows = 65536;
}  // namespace

std::int64_t default_chunk_rows(std::int64_t row_bytes) noexcept {
  const std::int64_t fitting = std::max<std::int64_t>(1, kLargestChunk / row_bytes);
  return std::min(kDefaultChunkRows, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fitting))));
}

ChunkedDataset::ChunkedDataset(std::string file, std::string name, Element element, std::int64_t width, bool matrix,
                               bool gzip)
    : file_(std::move(file)), name_(std::move(name)), element_(element), width_(width), matrix_(matrix), gzip_(gzip) {}

void ChunkedDataset::fail(const std::string& what) const {
  hdf5::fail(ErrorKind::file, what + ", nothing appeared under this name", {.file = file_, .dataset = name_});
}

void ChunkedDataset::create(hid_t parent, std::int64_t chunk_rows) {
  const int rank = matrix_ ? 2 : 1;
  const hsize_t chunk[2] = {static_cast<hsize_t>(chunk_rows), static_cast<hsize_t>(width_)};
  const hsize_t start[2] = {0, static_cast<hsize_t>(width_)};
  const hsize_t limit[2] = {H5S_UNLIMITED, static_cast<hsize_t>(width_)};
  const hdf5::Handle space(H5Screate_simple(rank, start, limit), H5Sclose);
  const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const hdf5::Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  // Times would make two equal files differ; fill values would write every chunk twice.
  bool good = space.valid() && properties.valid() && link.valid() && H5Pset_chunk(properties.get(), rank, chunk) >= 0 &&
              H5Pset_obj_track_times(properties.get(), false) >= 0 &&
              H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0;
  if (good && gzip_)
    good = H5Pset_shuffle(properties.get()) >= 0 && H5Pset_deflate(properties.get(), kRecordedLevel) >= 0;
  if (good)
    dataset_ = hdf5::Handle(
        H5Dcreate2(parent, name_.c_str(), type_of(element_), space.get(), link.get(), properties.get(), H5P_DEFAULT),
        H5Dclose);
  if (!dataset_.valid()) fail("cannot create the dataset");
}

void ChunkedDataset::write(std::int64_t first_row, std::int64_t rows, const std::vector<std::byte>& packed) {
  const hsize_t extent[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(width_)};
  const hsize_t offset[2] = {static_cast<hsize_t>(first_row), 0};
  if (H5Dset_extent(dataset_.get(), extent) < 0 ||
      H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, offset, packed.size(), packed.data()) < 0)
    fail("cannot write rows");
}

StreamDataset::StreamDataset(std::string file, std::string name, Element element, std::int64_t chunk, bool gzip)
    : dataset_(std::move(file), std::move(name), element, 1, false, gzip),
      element_(element),
      chunk_(chunk),
      gzip_(gzip) {}

void StreamDataset::append(hid_t parent, const std::byte* bytes, std::size_t size) {
  const std::size_t full = static_cast<std::size_t>(chunk_) * element_size(element_);
  while (size > 0) {
    const std::size_t part = std::min(size, full - pending_.size());
    pending_.insert(pending_.end(), bytes, bytes + part);
    bytes += part;
    size -= part;
    if (pending_.size() == full) write_pending(parent, chunk_);
  }
}

void StreamDataset::finish(hid_t parent) {
  const auto left = static_cast<std::int64_t>(pending_.size() / element_size(element_));
  if (left > 0) write_pending(parent, dataset_.created() ? chunk_ : left);
  if (!dataset_.created()) dataset_.create(parent, chunk_);
}

void StreamDataset::write_pending(hid_t parent, std::int64_t chunk) {
  const auto elements = static_cast<std::int64_t>(pending_.size() / element_size(element_));
  if (!dataset_.created()) dataset_.create(parent, chunk);
  pack_chunk(pending_, element_, chunk, gzip_);
  dataset_.write(written_, written_ + elements, pending_);
  written_ += elements;
  pending_.clear();
}

}  // namespace scrm
