#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "archive/archive_layout.hpp"
#include "file/text.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/hdf5_handle.hpp"
#include "hdf5/hdf5_sink.hpp"
#include "hdf5/seal.hpp"
#include "hdf5/texts.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Names = std::set<std::string>;
using Texts = std::vector<std::string>;

class ArchiveWriter {
 public:
  ArchiveWriter(const std::string& path, const ResultArchive& archive);
  ~ArchiveWriter();

  void write();

 private:
  /// Finds the extra columns and the longest run, and refuses what cannot be stored.
  void collect_columns();
  void write_attributes();
  void write_text_columns();
  void write_number_columns();
  void write_curves();
  void write_theta();
  void close();

  void names_attribute(const char* name, const Names& names);

  void texts(const std::string& name, const std::function<std::string(const RunRecord&)>& of);
  void numbers(const std::string& name, const std::function<double(const RunRecord&)>& of);
  void integers(const std::string& name, const std::function<std::int64_t(const RunRecord&)>& of);
  /// One row a run, padded; `of` gives null where the run has no such curve.
  void curve(const std::string& name, const std::function<const std::vector<double>*(const RunRecord&)>& of);
  void rows();
  void dataset(const std::string& name, hid_t file_type, hid_t memory_type, const std::vector<hsize_t>& shape,
               const void* data);

  [[noreturn]] void fail(const std::string& name, const std::string& what) const;
  void check_writes(const std::string& name) const {
    if (status_.error != 0) fail(name, "cannot write");
  }

  const std::string& path_;
  const ResultArchive& archive_;
  Names extra_numbers_, extra_curves_;
  std::size_t rollouts_ = 0;
  AtomicFile file_;
  hdf5::WriteStatus status_;
  hdf5::Handle handle_;
  hdf5::Handle group_;
};

ArchiveWriter::ArchiveWriter(const std::string& path, const ResultArchive& archive)
    : path_(path), archive_(archive), file_(path) {
  collect_columns();
}

ArchiveWriter::~ArchiveWriter() {
  const hdf5::Lock lock;
  group_.reset();
  handle_.reset();
  H5Eclear2(H5E_DEFAULT);
}

void ArchiveWriter::fail(const std::string& name, const std::string& what) const {
  const std::string message = what + ", nothing appeared under this name";
  const Place place{.file = path_, .dataset = name};
  if (status_.error == 0) hdf5::fail(ErrorKind::file, message, place);
  throw Error(ErrorKind::file, message + ": " + std::strerror(status_.error) + "; free some space and try again",
              place);
}

void ArchiveWriter::collect_columns() {
  for (const auto& [name, value] : archive_.attributes) {
    if (name.empty() || sanitize_utf8(name) != name || name == "format" || name == "format_version")
      throw Error(ErrorKind::usage, fmt::format("'{}' cannot be an attribute of an archive; rename it", name),
                  {.file = path_});
  }
  for (const RunRecord& run : archive_.runs) {
    validate_run(run, path_);
    rollouts_ = std::max(rollouts_, run.loss.size());
    for (const auto& [name, value] : run.numbers) extra_numbers_.insert(name);
    for (const auto& [name, values] : run.curves) extra_curves_.insert(name);
  }
  for (const std::string& name : extra_curves_)
    if (extra_numbers_.contains(name))
      throw Error(ErrorKind::run, "is a number in one run and a curve in another; rename one",
                  {.file = path_, .dataset = "runs/" + name});
}

void ArchiveWriter::names_attribute(const char* name, const Names& names) {
  const Texts list(names.begin(), names.end());
  const std::vector<const char*> data = hdf5::text_pointers(list);
  const hsize_t size = data.size();
  const hdf5::Handle type = hdf5::text_type();
  const hdf5::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const hdf5::Handle attribute(H5Acreate2(group_.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
  if (!attribute.valid() || (size > 0 && H5Awrite(attribute.get(), type.get(), data.data()) < 0))
    fail(std::string("runs attribute ") + name, "cannot write");
}

void ArchiveWriter::write_attributes() {
  const hid_t root = handle_.get();
  bool good = write_attribute(root, "format", std::string(kArchiveFormat)) &&
              write_attribute(root, "format_version", kArchiveVersion);
  for (const auto& [name, value] : archive_.attributes)
    good = good && write_attribute(root, name.c_str(), sanitize_utf8(value));
  if (!good) fail("", "cannot write the attributes");
  names_attribute(kExtraNumbers, extra_numbers_);
  names_attribute(kExtraCurves, extra_curves_);
}

void ArchiveWriter::dataset(const std::string& name, hid_t file_type, hid_t memory_type,
                            const std::vector<hsize_t>& shape, const void* data) {
  const std::string full_name = "runs/" + name;
  const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  // Without times, the same runs give the same file.
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail(full_name, "cannot be set up");
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  const hdf5::Handle dataset(
      H5Dcreate2(group_.get(), name.c_str(), file_type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (!dataset.valid()) fail(full_name, "cannot be created");
  if (H5Sget_simple_extent_npoints(space.get()) > 0 &&
      H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
    fail(full_name, "cannot write");
  check_writes(full_name);
}

void ArchiveWriter::texts(const std::string& name, const std::function<std::string(const RunRecord&)>& of) {
  Texts column;
  for (const RunRecord& run : archive_.runs) column.push_back(sanitize_utf8(of(run)));
  const hdf5::Handle type = hdf5::text_type();
  dataset(name, type.get(), type.get(), {column.size()}, hdf5::text_pointers(column).data());
}

void ArchiveWriter::numbers(const std::string& name, const std::function<double(const RunRecord&)>& of) {
  std::vector<double> column;
  for (const RunRecord& run : archive_.runs) column.push_back(of(run));
  dataset(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {column.size()}, column.data());
}

void ArchiveWriter::integers(const std::string& name, const std::function<std::int64_t(const RunRecord&)>& of) {
  std::vector<std::int64_t> column;
  for (const RunRecord& run : archive_.runs) column.push_back(of(run));
  dataset(name, H5T_STD_I64LE, H5T_NATIVE_INT64, {column.size()}, column.data());
}

void ArchiveWriter::curve(const std::string& name,
                          const std::function<const std::vector<double>*(const RunRecord&)>& of) {
  std::vector<double> table(archive_.runs.size() * rollouts_, absent());
  for (std::size_t i = 0; i < archive_.runs.size(); ++i)
    if (const std::vector<double>* values = of(archive_.runs[i]))
      std::copy(values->begin(), values->end(), table.begin() + static_cast<std::ptrdiff_t>(i * rollouts_));
  dataset(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {archive_.runs.size(), rollouts_}, table.data());
}

void ArchiveWriter::rows() {
  std::vector<std::int64_t> table(archive_.runs.size() * rollouts_, 0);
  for (std::size_t i = 0; i < archive_.runs.size(); ++i)
    std::copy(archive_.runs[i].rows.begin(), archive_.runs[i].rows.end(),
              table.begin() + static_cast<std::ptrdiff_t>(i * rollouts_));
  dataset("rows", H5T_STD_I64LE, H5T_NATIVE_INT64, {archive_.runs.size(), rollouts_}, table.data());
}

void ArchiveWriter::write_text_columns() {
  texts("environment", [](const RunRecord& run) { return run.environment; });
  texts("method", [](const RunRecord& run) { return run.method; });
  texts("lambda_rule", [](const RunRecord& run) { return run.lambda_rule; });
  texts("identity", [](const RunRecord& run) { return run.identity; });
  texts("status", [](const RunRecord& run) { return std::string(run.ok ? "ok" : "failed"); });
  texts("message", [](const RunRecord& run) { return run.message; });
}

void ArchiveWriter::write_number_columns() {
  numbers("hyperparameter", [](const RunRecord& run) { return run.hyperparameter; });
  integers("seed", [](const RunRecord& run) { return run.seed; });
  numbers("final_loss", [](const RunRecord& run) { return run.final_loss; });
  numbers("seconds", [](const RunRecord& run) { return run.seconds; });
  integers("rollouts", [](const RunRecord& run) { return static_cast<std::int64_t>(run.loss.size()); });
  for (const std::string& name : extra_numbers_)
    numbers(name, [&name](const RunRecord& run) {
      const auto found = run.numbers.find(name);
      return found == run.numbers.end() ? absent() : found->second;
    });
}

void ArchiveWriter::write_curves() {
  curve("loss", [](const RunRecord& run) { return &run.loss; });
  rows();
  curve("regret", [](const RunRecord& run) { return &run.regret; });
  for (const std::string& name : extra_curves_)
    curve(name, [&name](const RunRecord& run) {
      const auto found = run.curves.find(name);
      return found == run.curves.end() ? nullptr : &found->second;
    });
}

void ArchiveWriter::write_theta() {
  std::vector<hvl_t> column;
  // HDF5 takes a pointer to what is not const and only reads it.
  for (const RunRecord& run : archive_.runs)
    column.push_back({run.theta.size(), const_cast<double*>(run.theta.data())});
  const hdf5::Handle file_type(H5Tvlen_create(H5T_IEEE_F64LE), H5Tclose);
  const hdf5::Handle memory_type(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose);
  dataset("theta", file_type.get(), memory_type.get(), {column.size()}, column.data());
}

void ArchiveWriter::close() {
  if (H5Fflush(handle_.get(), H5F_SCOPE_LOCAL) < 0) fail("", "cannot bring the archive to disk");
  const bool good = group_.reset();
  if (!handle_.reset() || !good) fail("", "cannot finish the archive");
  check_writes("");
  status_.error = append_seal(file_.temporary_path(), {});
  check_writes("");
}

void ArchiveWriter::write() {
  const hdf5::Lock lock;
  handle_ = hdf5::create_file(file_.temporary_path(), status_);
  if (!handle_.valid()) fail("", "cannot write");
  const hdf5::Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail("runs", "cannot be set up");
  group_ = hdf5::Handle(H5Gcreate2(handle_.get(), "runs", H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose);
  if (!group_.valid()) fail("runs", "cannot be created");
  write_attributes();
  write_text_columns();
  write_number_columns();
  write_curves();
  write_theta();
  close();
  file_.commit();
}

}  // namespace

void write_archive(const std::string& path, const ResultArchive& archive) {
  ArchiveWriter(path, archive).write();
}

}  // namespace scrm
