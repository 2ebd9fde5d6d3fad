#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "array/chunk_filters.hpp"
#include "array/chunked_dataset.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/hdf5_handle.hpp"
#include "hdf5/hdf5_sink.hpp"
#include "hdf5/texts.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/labelled_file.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kFormatVersion = 1;

void check_shape(const std::string& path, const LabelledData& data) {
  const auto require = [&](bool good, const char* what) {
    if (!good) throw Error(ErrorKind::run, fmt::format("the labelled data has {}", what), {.file = path});
  };
  require(data.rows >= 0 && data.features >= 0, "a negative shape");
  require(data.labels >= 1, "no labels");
  const auto rows = static_cast<std::size_t>(data.rows);
  const std::size_t bits = data.multiclass ? 0 : rows * static_cast<std::size_t>(data.labels);
  require(data.label.size() == bits, "not one bit for each row and label");
  require(data.category.size() == (data.multiclass ? rows : 0), "not one class for each row");
  require(data.label_names.empty() || data.label_names.size() == static_cast<std::size_t>(data.labels),
          "not one name for each label");
  if (!data.sparse) {
    require(data.context.size() == rows * static_cast<std::size_t>(data.features),
            "not one number for each row and feature");
    return;
  }
  const bool empty = rows == 0 && data.indptr.empty();
  require(empty || data.indptr.size() == rows + 1, "not one offset more than rows");
  require(data.indices.size() == data.values.size(), "not one index for each value");
  require(empty || data.indptr.back() == static_cast<std::int64_t>(data.indices.size()),
          "offsets that do not end with the entries");
}

class LabelledWriter {
 public:
  LabelledWriter(const std::string& path, const LabelledData& data, bool gzip)
      : data_(data), gzip_(gzip), file_((check_shape(path, data), path)) {}
  ~LabelledWriter() {
    const hdf5::Lock lock;
    handle_.reset();
    H5Eclear2(H5E_DEFAULT);
  }
  LabelledWriter(const LabelledWriter&) = delete;
  LabelledWriter& operator=(const LabelledWriter&) = delete;

  void write() {
    {
      const hdf5::Lock lock;
      handle_ = hdf5::create_file(file_.temporary_path(), status_);
      if (!handle_.valid()) fail("cannot write");
      write_root();
      if (data_.sparse) {
        write_sparse();
      } else if (data_.features > 0) {
        write_table("context", Element::f64, data_.features, data_.context.data());
      }
      if (data_.multiclass) {
        write_list("label", Element::i32, rows_per_chunk(), data_.category);
      } else {
        write_table("label", Element::u8, data_.labels, data_.label.data());
      }
      if (!data_.label_names.empty()) write_names();
      if (H5Fflush(handle_.get(), H5F_SCOPE_LOCAL) < 0) fail("cannot bring the file to disk");
      if (!handle_.reset()) fail("cannot finish the file");
      hdf5::seal_file(file_.temporary_path(), status_);
      if (status_.error != 0) fail("cannot write");
    }
    file_.commit();
  }

 private:
  void write_root() {
    const hid_t root = handle_.get();
    if (!write_attribute(root, "format", std::string("scrm-labelled")) ||
        !write_attribute(root, "format_version", kFormatVersion) || !write_attribute(root, "name", data_.name))
      fail("cannot write the attributes");
    if (data_.multiclass && !write_attribute(root, "num_classes", std::int64_t{data_.labels}))
      fail("cannot write the attributes");
  }

  std::int64_t rows_per_chunk() const {
    const std::int64_t widest = std::max<std::int64_t>(data_.sparse ? 0 : data_.features, data_.labels);
    return std::clamp(data_.rows, std::int64_t{1}, default_chunk_rows(widest * std::int64_t{sizeof(double)}));
  }

  void write_table(const char* name, Element element, std::int64_t width, const void* values) {
    ChunkedDataset dataset(file_.path(), name, element, width, true, gzip_);
    const std::int64_t chunk = rows_per_chunk();
    dataset.create(handle_.get(), chunk);
    const auto* bytes = static_cast<const std::byte*>(values);
    const std::size_t row_bytes = static_cast<std::size_t>(width) * element_size(element);
    for (std::int64_t first = 0; first < data_.rows; first += chunk) {
      const std::int64_t end = std::min(first + chunk, data_.rows);
      std::vector<std::byte> packed(bytes + static_cast<std::size_t>(first) * row_bytes,
                                    bytes + static_cast<std::size_t>(end) * row_bytes);
      pack_chunk(packed, element, chunk * width, gzip_);
      dataset.write(first, end, packed);
    }
    if (!dataset.close()) fail(fmt::format("cannot finish {}", name));
  }

  template <class Number>
  void write_list(const char* name, Element element, std::int64_t chunk, const std::vector<Number>& values) {
    StreamDataset dataset(file_.path(), name, element, chunk, gzip_);
    dataset.append(handle_.get(), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(Number));
    dataset.finish(handle_.get());
    if (!dataset.close()) fail(fmt::format("cannot finish {}", name));
  }

  void write_sparse() {
    {
      const hdf5::Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      if (H5Pset_obj_track_times(properties.get(), false) < 0) fail("cannot set up a group");
      const hdf5::Handle group(H5Gcreate2(handle_.get(), "context", H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                               H5Gclose);
      if (!group.valid() || !write_attribute(group.get(), "num_features", data_.features))
        fail("cannot create the group context");
    }
    const std::vector<std::int64_t> none = {0};
    write_list("context/indptr", Element::i64, rows_per_chunk() + 1, data_.indptr.empty() ? none : data_.indptr);
    write_list("context/indices", Element::i32, kEntriesPerChunk, data_.indices);
    write_list("context/values", Element::f64, kEntriesPerChunk, data_.values);
  }

  void write_names() {
    const std::vector<const char*> texts = hdf5::text_pointers(data_.label_names);
    const hsize_t count = texts.size();
    const hdf5::Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const hdf5::Handle type = hdf5::text_type();
    const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (H5Pset_obj_track_times(properties.get(), false) < 0) fail("cannot set up label_names");
    const hdf5::Handle dataset(
        H5Dcreate2(handle_.get(), "label_names", type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
        H5Dclose);
    if (!dataset.valid() || H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) < 0)
      fail("cannot write label_names");
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string message = what + ", nothing appeared under this name";
    if (status_.error == 0) hdf5::fail(ErrorKind::file, message, {.file = file_.path()});
    throw Error(ErrorKind::file, message + ": " + std::strerror(status_.error), {.file = file_.path()});
  }

  const LabelledData& data_;
  bool gzip_;
  AtomicFile file_;
  hdf5::WriteStatus status_;
  hdf5::Handle handle_;
};

}  // namespace

void write_labelled(const std::string& path, const LabelledData& data, bool gzip) {
  LabelledWriter(path, data, gzip).write();
}

}  // namespace scrm
