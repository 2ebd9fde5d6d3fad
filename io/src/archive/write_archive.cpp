#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "archive/archive_layout.hpp"
#include "archive/column_file.hpp"
#include "file/text.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/hdf5_handle.hpp"
#include "hdf5/texts.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Names = std::set<std::string>;

class ArchiveWriter {
 public:
  /// Refuses what cannot be stored before there is a file.
  ArchiveWriter(const std::string& path, const ResultArchive& archive) : path_(path), archive_(archive) {
    collect_columns();
  }

  void write();

 private:
  /// Finds the extra columns and the longest run, and refuses what cannot be stored.
  void collect_columns();
  void write_attributes(ColumnFile& file);
  void write_text_columns(ColumnFile& file);
  void write_number_columns(ColumnFile& file);
  void write_curves(ColumnFile& file);
  void write_theta(ColumnFile& file);

  /// The column of what `of` gives for every run.
  template <class Of>
  auto column(const Of& of) const {
    std::vector<std::decay_t<decltype(of(archive_.runs.front()))>> out;
    for (const RunRecord& run : archive_.runs) out.push_back(of(run));
    return out;
  }
  /// One row a run, padded; `of` gives null where the run has no such curve.
  void curve(ColumnFile& file, const std::string& name,
             const std::function<const std::vector<double>*(const RunRecord&)>& of);
  void rows(ColumnFile& file);

  const std::string& path_;
  const ResultArchive& archive_;
  Names extra_numbers_, extra_curves_;
  std::size_t rollouts_ = 0;
};

/// Names as an attribute of the group.
void names_attribute(ColumnFile& file, const char* name, const Names& names) {
  const std::vector<std::string> list(names.begin(), names.end());
  const std::vector<const char*> data = hdf5::text_pointers(list);
  const hsize_t size = data.size();
  const hdf5::Handle type = hdf5::text_type();
  const hdf5::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const hdf5::Handle attribute(H5Acreate2(file.group(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
  if (!attribute.valid() || (size > 0 && H5Awrite(attribute.get(), type.get(), data.data()) < 0))
    file.fail(std::string("runs attribute ") + name, "cannot write");
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

void ArchiveWriter::write_attributes(ColumnFile& file) {
  const hid_t root = file.root();
  bool good = write_attribute(root, "format", std::string(kArchiveFormat)) &&
              write_attribute(root, "format_version", kArchiveVersion);
  for (const auto& [name, value] : archive_.attributes)
    good = good && write_attribute(root, name.c_str(), sanitize_utf8(value));
  if (!good) file.fail("", "cannot write the attributes");
  names_attribute(file, kExtraNumbers, extra_numbers_);
  names_attribute(file, kExtraCurves, extra_curves_);
}

void ArchiveWriter::curve(ColumnFile& file, const std::string& name,
                          const std::function<const std::vector<double>*(const RunRecord&)>& of) {
  std::vector<double> table(archive_.runs.size() * rollouts_, absent());
  for (std::size_t i = 0; i < archive_.runs.size(); ++i)
    if (const std::vector<double>* values = of(archive_.runs[i]))
      std::copy(values->begin(), values->end(), table.begin() + static_cast<std::ptrdiff_t>(i * rollouts_));
  file.dataset(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {archive_.runs.size(), rollouts_}, table.data());
}

void ArchiveWriter::rows(ColumnFile& file) {
  std::vector<std::int64_t> table(archive_.runs.size() * rollouts_, 0);
  for (std::size_t i = 0; i < archive_.runs.size(); ++i)
    std::copy(archive_.runs[i].rows.begin(), archive_.runs[i].rows.end(),
              table.begin() + static_cast<std::ptrdiff_t>(i * rollouts_));
  file.dataset("rows", H5T_STD_I64LE, H5T_NATIVE_INT64, {archive_.runs.size(), rollouts_}, table.data());
}

void ArchiveWriter::write_text_columns(ColumnFile& file) {
  file.texts("environment", column([](const RunRecord& run) { return run.environment; }));
  file.texts("method", column([](const RunRecord& run) { return run.method; }));
  file.texts("lambda_rule", column([](const RunRecord& run) { return run.lambda_rule; }));
  file.texts("identity", column([](const RunRecord& run) { return run.identity; }));
  file.texts("status", column([](const RunRecord& run) { return std::string(run.ok ? "ok" : "failed"); }));
  file.texts("message", column([](const RunRecord& run) { return run.message; }));
}

void ArchiveWriter::write_number_columns(ColumnFile& file) {
  file.numbers("hyperparameter", column([](const RunRecord& run) { return run.hyperparameter; }));
  file.integers("seed", column([](const RunRecord& run) { return std::int64_t{run.seed}; }));
  file.numbers("final_loss", column([](const RunRecord& run) { return run.final_loss; }));
  file.numbers("seconds", column([](const RunRecord& run) { return run.seconds; }));
  file.integers("rollouts", column([](const RunRecord& run) { return static_cast<std::int64_t>(run.loss.size()); }));
  for (const std::string& name : extra_numbers_)
    file.numbers(name, column([&name](const RunRecord& run) {
                   const auto found = run.numbers.find(name);
                   return found == run.numbers.end() ? absent() : found->second;
                 }));
}

void ArchiveWriter::write_curves(ColumnFile& file) {
  curve(file, "loss", [](const RunRecord& run) { return &run.loss; });
  rows(file);
  curve(file, "regret", [](const RunRecord& run) { return &run.regret; });
  for (const std::string& name : extra_curves_)
    curve(file, name, [&name](const RunRecord& run) {
      const auto found = run.curves.find(name);
      return found == run.curves.end() ? nullptr : &found->second;
    });
}

void ArchiveWriter::write_theta(ColumnFile& file) {
  std::vector<hvl_t> column;
  // HDF5 takes a pointer to what is not const and only reads it.
  for (const RunRecord& run : archive_.runs)
    column.push_back({run.theta.size(), const_cast<double*>(run.theta.data())});
  const hdf5::Handle file_type(H5Tvlen_create(H5T_IEEE_F64LE), H5Tclose);
  const hdf5::Handle memory_type(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose);
  file.dataset("theta", file_type.get(), memory_type.get(), {column.size()}, column.data());
}

void ArchiveWriter::write() {
  const hdf5::Lock lock;
  ColumnFile file(path_, "runs");
  write_attributes(file);
  write_text_columns(file);
  write_number_columns(file);
  write_curves(file);
  write_theta(file);
  file.commit();
}

}  // namespace

void write_archive(const std::string& path, const ResultArchive& archive) {
  ArchiveWriter(path, archive).write();
}

}  // namespace scrm
