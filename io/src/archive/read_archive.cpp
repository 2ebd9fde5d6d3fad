#include <fcntl.h>
#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <type_traits>

#include "archive/archive_layout.hpp"
#include "archive/checksum_trailer.hpp"
#include "file/descriptor.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/hdf5_file.hpp"
#include "hdf5/texts.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/result_archive.hpp"

namespace scrm {
namespace {

using Texts = std::vector<std::string>;

/// Lists of variable length in HDF5's own memory, until they are copied.
struct Lists {
  Lists(hid_t value_type, hid_t value_space, std::size_t count) : values(count), type(value_type), space(value_space) {}
  ~Lists() { H5Dvlen_reclaim(type, space, H5P_DEFAULT, values.data()); }
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;

  std::vector<hvl_t> values;
  hid_t type, space;
};

/// A dataset of the archive, opened and measured.
struct ArchiveColumn {
  std::string name;  // with the group
  hdf5::Handle dataset, type, space;
  std::vector<hsize_t> shape;
  std::size_t count = 1;  // of values
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::string& path) : path_(path), file_(open_hdf5_file(path, nullptr)) {}

  ResultArchive read();

 private:
  void read_attributes();
  void read_plain_columns();
  void read_theta();
  void read_curves();
  void read_extras();

  ArchiveColumn open(const std::string& name, std::size_t rank) const;
  /// One value a run.
  Texts texts(const std::string& name) const;
  template <class T>
  std::vector<T> numbers(const std::string& name) const;
  /// One row a run: what the run has of it, without the padding.
  template <class T>
  std::vector<std::vector<T>> curves(const std::string& name) const;
  template <class T>
  std::vector<T> values(const ArchiveColumn& column) const;
  Texts names_attribute(const char* name) const;

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(ErrorKind::data, what, {.file = path_, .dataset = name});
  }

  const std::string& path_;
  Hdf5File file_;
  ResultArchive archive_;
  std::vector<std::int64_t> rollouts_;  // of each run
};

ArchiveColumn ArchiveReader::open(const std::string& name, std::size_t rank) const {
  ArchiveColumn column;
  column.name = "runs/" + name;
  const hid_t root = file_.handle.get();
  if (H5Lexists(root, "runs", H5P_DEFAULT) <= 0 || H5Lexists(root, column.name.c_str(), H5P_DEFAULT) <= 0)
    fail(column.name, "there is no such dataset; the archive is not complete");
  column.dataset = hdf5::Handle(H5Dopen2(root, column.name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!column.dataset.valid()) hdf5::fail(ErrorKind::data, "cannot be opened", {path_, column.name});
  column.type = hdf5::Handle(H5Dget_type(column.dataset.get()), H5Tclose);
  column.space = hdf5::Handle(H5Dget_space(column.dataset.get()), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(column.space.get());
  if (dimensions != static_cast<int>(rank))
    fail(column.name, fmt::format("has {} dimensions, {} needed", dimensions, rank == 1 ? "one is" : "two are"));
  column.shape.resize(rank);
  H5Sget_simple_extent_dims(column.space.get(), column.shape.data(), nullptr);
  // Compression makes a value no smaller than this; larger sizes come from damage, and must not be allocated.
  constexpr double kMaxValuesPerByte = 1100;
  double size = 1;
  for (const hsize_t length : column.shape) size *= static_cast<double>(length);
  if (size > kMaxValuesPerByte * static_cast<double>(file_.bytes))
    fail(column.name, fmt::format("cannot have {} values in a file of {} bytes; it is damaged", size, file_.bytes));
  column.count = static_cast<std::size_t>(size);
  if (column.shape[0] != archive_.runs.size() && name != "environment")
    fail(column.name, fmt::format("has {} rows, but runs/environment has {}", column.shape[0], archive_.runs.size()));
  return column;
}

template <class T>
std::vector<T> ArchiveReader::values(const ArchiveColumn& column) const {
  const H5T_class_t kind = H5Tget_class(column.type.get());
  constexpr bool kReal = std::is_floating_point_v<T>;
  if (kind != H5T_INTEGER && !(kReal && kind == H5T_FLOAT))
    fail(column.name, kReal ? "must hold numbers" : "must hold whole numbers");
  std::vector<T> result(column.count);
  if (column.count > 0 && H5Dread(column.dataset.get(), kReal ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                                  H5P_DEFAULT, result.data()) < 0)
    hdf5::fail(ErrorKind::data, "cannot be read", {path_, column.name});
  return result;
}

template <class T>
std::vector<T> ArchiveReader::numbers(const std::string& name) const {
  return values<T>(open(name, 1));
}

Texts ArchiveReader::texts(const std::string& name) const {
  const ArchiveColumn column = open(name, 1);
  return hdf5::read_texts(column.dataset.get(), {path_, column.name});
}

template <class T>
std::vector<std::vector<T>> ArchiveReader::curves(const std::string& name) const {
  const ArchiveColumn column = open(name, 2);
  const std::vector<T> table = values<T>(column);
  const std::size_t width = column.shape[1];
  std::vector<std::vector<T>> result;
  for (std::size_t i = 0; i < rollouts_.size(); ++i) {
    if (rollouts_[i] < 0 || static_cast<std::size_t>(rollouts_[i]) > width)
      throw Error(ErrorKind::data, fmt::format("is {}, but {} has {} columns", rollouts_[i], column.name, width),
                  {.file = path_, .dataset = "runs/rollouts", .row = static_cast<std::int64_t>(i)});
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(i * width);
    result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rollouts_[i]));
  }
  return result;
}

Texts ArchiveReader::names_attribute(const char* name) const {
  const std::string place = std::string("runs attribute ") + name;
  if (H5Aexists_by_name(file_.handle.get(), "runs", name, H5P_DEFAULT) <= 0) fail(place, "is missing");
  const hdf5::Handle attribute(H5Aopen_by_name(file_.handle.get(), "runs", name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const hdf5::Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (!attribute.valid() || count < 0 || count > file_.bytes) fail(place, "cannot be read");
  return hdf5::read_texts(attribute.get(), {path_, place});
}

void ArchiveReader::read_attributes() {
  const auto format = text_attribute(file_, "/", "format");
  if (!format) fail("", fmt::format("has no attribute format; an archive has format = \"{}\"", kArchiveFormat));
  if (*format != kArchiveFormat)
    fail("attribute format", fmt::format("is \"{}\", \"{}\" is needed", *format, kArchiveFormat));
  const auto version = integer_attribute(file_, "/", "format_version");
  if (!version)
    fail("", fmt::format("has no attribute format_version; this program reads version {}", kArchiveVersion));
  if (*version != kArchiveVersion)
    fail("attribute format_version", fmt::format("is {}, this program reads version {}", *version, kArchiveVersion));

  Texts names;
  const auto collect = [](hid_t object, const char* name, const H5A_info_t*, void* out) -> herr_t {
    const hdf5::Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    const hdf5::Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const hdf5::Handle space(H5Aget_space(attribute.get()), H5Sclose);
    // Others may have added what they like; only texts are ours.
    if (H5Tget_class(type.get()) == H5T_STRING && H5Sget_simple_extent_npoints(space.get()) == 1)
      static_cast<Texts*>(out)->emplace_back(name);
    return 0;
  };
  hsize_t start = 0;
  if (H5Aiterate2(file_.handle.get(), H5_INDEX_NAME, H5_ITER_INC, &start, collect, &names) < 0)
    hdf5::fail(ErrorKind::data, "its attributes cannot be listed", {.file = path_});
  for (const std::string& name : names)
    if (name != "format") archive_.attributes[name] = text_attribute(file_, "/", name.c_str()).value_or("");
}

void ArchiveReader::read_plain_columns() {
  const Texts environment = texts("environment");
  archive_.runs.resize(environment.size());
  const Texts method = texts("method"), lambda_rule = texts("lambda_rule"), identity = texts("identity"),
              status = texts("status"), message = texts("message");
  const auto hyperparameter = numbers<double>("hyperparameter"), final_loss = numbers<double>("final_loss"),
             seconds = numbers<double>("seconds");
  const auto seed = numbers<std::int64_t>("seed");
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) {
    if (status[i] != "ok" && status[i] != "failed")
      throw Error(ErrorKind::data, fmt::format("is \"{}\", not \"ok\" or \"failed\"", status[i]),
                  {.file = path_, .dataset = "runs/status", .row = static_cast<std::int64_t>(i)});
    RunRecord& run = archive_.runs[i];
    run.environment = environment[i];
    run.method = method[i];
    run.hyperparameter = hyperparameter[i];
    run.lambda_rule = lambda_rule[i];
    run.seed = seed[i];
    run.identity = identity[i];
    run.ok = status[i] == "ok";
    run.message = message[i];
    run.final_loss = final_loss[i];
    run.seconds = seconds[i];
  }
}

void ArchiveReader::read_curves() {
  rollouts_ = numbers<std::int64_t>("rollouts");
  auto loss = curves<double>("loss");
  auto rows = curves<std::int64_t>("rows");
  auto regret = curves<double>("regret");
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) {
    archive_.runs[i].loss = std::move(loss[i]);
    archive_.runs[i].rows = std::move(rows[i]);
    archive_.runs[i].regret = std::move(regret[i]);
  }
}

void ArchiveReader::read_theta() {
  const ArchiveColumn column = open("theta", 1);
  const hdf5::Handle base(H5Tget_class(column.type.get()) == H5T_VLEN ? H5Tget_super(column.type.get()) : -1, H5Tclose);
  if (!base.valid() || H5Tget_class(base.get()) != H5T_FLOAT) fail(column.name, "must hold lists of numbers");
  const hdf5::Handle type(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose);
  Lists lists(type.get(), column.space.get(), column.count);
  if (column.count > 0 &&
      H5Dread(column.dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, lists.values.data()) < 0)
    hdf5::fail(ErrorKind::data, "cannot be read", {path_, column.name});
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) {
    const auto* first = static_cast<const double*>(lists.values[i].p);
    archive_.runs[i].theta.assign(first, first + lists.values[i].len);
  }
}

void ArchiveReader::read_extras() {
  for (const std::string& name : names_attribute(kExtraNumbers)) {
    const auto column = numbers<double>(name);
    for (std::size_t i = 0; i < archive_.runs.size(); ++i)
      if (!is_absent(column[i])) archive_.runs[i].numbers[name] = column[i];
  }
  for (const std::string& name : names_attribute(kExtraCurves)) {
    auto column = curves<double>(name);
    for (std::size_t i = 0; i < archive_.runs.size(); ++i)
      if (!column[i].empty() && !is_absent(column[i].front())) archive_.runs[i].curves[name] = std::move(column[i]);
  }
}

ResultArchive ArchiveReader::read() {
  const hdf5::Lock lock;
  read_attributes();
  read_plain_columns();
  read_curves();
  read_theta();
  read_extras();
  return std::move(archive_);
}

}  // namespace

ResultArchive read_archive(const std::string& path) {
  try {
    if (verify_checksum(Descriptor(path, O_RDONLY | O_NONBLOCK)) == ChecksumStatus::mismatch)
      throw Error(ErrorKind::data, "is damaged: its bytes are not those that were written; take a copy that is whole",
                  {.file = path});
    return ArchiveReader(path).read();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::memory, "there is not enough memory to read this archive", {.file = path});
  }
}

}  // namespace scrm
