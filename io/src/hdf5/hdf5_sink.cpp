#include "hdf5/hdf5_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "file/descriptor.hpp"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace scrm::hdf5 {
namespace {

// HDF5 copies this with memcpy into its property lists.
struct Access {
  WriteStatus* status;
};

/// An open file. HDF5 sees the first member and casts back, as its C interface demands.
struct SinkFile {
  H5FD_t base{};
  Descriptor descriptor;
  haddr_t allocated = 0;  // end of the addresses HDF5 has given out
  haddr_t size = 0;       // end of what was written
  WriteStatus* status = nullptr;
};

SinkFile* sink(H5FD_t* file) {
  return reinterpret_cast<SinkFile*>(file);
}
const SinkFile* sink(const H5FD_t* file) {
  return reinterpret_cast<const SinkFile*>(file);
}

H5FD_t* open_sink(const char* name, unsigned flags, hid_t access_list, haddr_t) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(access_list));
  if (access == nullptr) return nullptr;
  int mode = (flags & H5F_ACC_RDWR) != 0U ? O_RDWR : O_RDONLY;
  if ((flags & H5F_ACC_TRUNC) != 0U) mode |= O_TRUNC;
  if ((flags & H5F_ACC_CREAT) != 0U) mode |= O_CREAT;
  Descriptor descriptor(name, mode);
  if (!descriptor.open()) {
    access->status->error = errno;
    return nullptr;
  }
  auto* file = new (std::nothrow) SinkFile;
  struct stat information {};
  if (file == nullptr || ::fstat(descriptor.get(), &information) != 0) {
    delete file;
    return nullptr;
  }
  file->descriptor = std::move(descriptor);
  file->size = static_cast<haddr_t>(information.st_size);
  file->status = access->status;
  return &file->base;
}

herr_t close_sink(H5FD_t* file) {
  SinkFile* self = sink(file);
  const int error = self->descriptor.close();
  if (self->status->error == 0) self->status->error = error;
  delete self;
  return 0;
}

herr_t query_sink(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
           H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t sink_allocated(const H5FD_t* file, H5FD_mem_t) {
  return sink(file)->allocated;
}

herr_t set_sink_allocated(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  sink(file)->allocated = end;
  return 0;
}

haddr_t sink_size(const H5FD_t* file, H5FD_mem_t) {
  return sink(file)->size;
}

herr_t read_sink(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* out) {
  const ssize_t got = read_at(sink(file)->descriptor, out, size, static_cast<std::int64_t>(address));
  if (got < 0) return -1;
  // Given out but never written: reads as zeros, as in a file with a hole.
  const auto done = static_cast<std::size_t>(got);
  std::memset(static_cast<char*>(out) + done, 0, size - done);
  return 0;
}

/// Whether these are the numbers of a dataset. HDF5 also calls the heap of texts that: it has a signature of its own.
bool are_rows(H5FD_mem_t type, const void* bytes, std::size_t size) {
  constexpr std::string_view kHeap = "GCOL";
  return type == H5FD_MEM_DRAW && (size < kHeap.size() || std::memcmp(bytes, kHeap.data(), kHeap.size()) != 0);
}

/// Keeps `rows` to what was last written as such: HDF5 may use space again.
void note_extent(std::vector<Extent>& rows, Extent written, bool holds_rows) {
  std::erase_if(rows, [&](const Extent& e) { return e.begin < written.end && written.begin < e.end; });
  if (!holds_rows) return;
  if (!rows.empty() && rows.back().end == written.begin) {
    rows.back().end = written.end;
  } else {
    rows.push_back(written);
  }
}

herr_t write_sink(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, const void* in) {
  SinkFile* self = sink(file);
  note_extent(self->status->rows, {address, address + size}, are_rows(type, in, size));
  self->size = std::max(self->size, address + size);
  if (self->status->error == 0)
    self->status->error =
        write_at(self->descriptor, {static_cast<const char*>(in), size}, static_cast<std::int64_t>(address));
  return 0;
}

herr_t truncate_sink(H5FD_t* file, hid_t, hbool_t) {
  SinkFile* self = sink(file);
  if (self->allocated == self->size) return 0;
  if (self->status->error == 0 && ::ftruncate(self->descriptor.get(), static_cast<off_t>(self->allocated)) != 0)
    self->status->error = errno;
  self->size = self->allocated;
  return 0;
}

H5FD_class_t sink_class() {
  constexpr H5FD_mem_t kMap[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  // Out of the range that HDF5 leaves for drivers which are not registered anywhere.
  driver.value = static_cast<H5FD_class_value_t>(300);
#endif
  driver.name = "scrm_sink";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(Access);
  driver.open = open_sink;
  driver.close = close_sink;
  driver.query = query_sink;
  driver.get_eoa = sink_allocated;
  driver.set_eoa = set_sink_allocated;
  driver.get_eof = sink_size;
  driver.read = read_sink;
  driver.write = write_sink;
  driver.truncate = truncate_sink;
  std::copy(std::begin(kMap), std::end(kMap), std::begin(driver.fl_map));
  return driver;
}

/// Registered once; HDF5 lets go of it when the process ends.
hid_t sink_driver() {
  static const H5FD_class_t driver = sink_class();
  static const hid_t id = H5FDregister(&driver);
  return id;
}

}  // namespace

Handle create_file(const std::string& path, WriteStatus& status) {
  const Handle properties(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  const Handle access_list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Access access{&status};
  // The 1.8 layout is small, carries no times, and is read by every HDF5 in use.
  if (H5Pset_obj_track_times(properties.get(), false) < 0 ||
      H5Pset_libver_bounds(access_list.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0 ||
      H5Pset_fclose_degree(access_list.get(), H5F_CLOSE_STRONG) < 0 ||
      H5Pset_driver(access_list.get(), sink_driver(), &access) < 0)
    return {};
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties.get(), access_list.get()), H5Fclose};
}

void seal_file(const std::string& path, WriteStatus& status, const std::string& note) {
  if (status.error != 0) return;
  std::sort(status.rows.begin(), status.rows.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  status.error = append_seal(path, status.rows, note);
}

}  // namespace scrm::hdf5
