#include "archive/column_file.hpp"
#include "hdf5/attributes.hpp"
#include "scrm/io/archive/coverage_archive.hpp"

namespace scrm {
namespace {

constexpr const char* kFormat = "scrm-coverage";
constexpr std::int64_t kFormatVersion = 1;

}  // namespace

void write_coverage_archive(const std::string& path, const CoverageArchive& archive) {
  const hdf5::Lock lock;
  ColumnFile file(path, "study");
  const hid_t root = file.root();
  const bool good = write_attribute(root, "format", std::string(kFormat)) &&
                    write_attribute(root, "format_version", kFormatVersion) &&
                    write_attribute(root, "seed", archive.seed) && write_attribute(root, "level", archive.level) &&
                    write_attribute(root, "version", archive.version);
  if (!good) file.fail("", "cannot write the attributes");

  using Record = CoverageRecord;
  const std::vector<Record>& records = archive.records;
  file.texts("design", column_of(records, &Record::design));
  file.integers("rows", column_of(records, &Record::rows));
  file.texts("estimator", column_of(records, &Record::estimator));
  file.texts("interval", column_of(records, &Record::interval));
  file.numbers("coverage", column_of(records, &Record::coverage));
  file.numbers("coverage_error", column_of(records, &Record::coverage_error));
  file.numbers("below", column_of(records, &Record::below));
  file.numbers("above", column_of(records, &Record::above));
  file.numbers("relative_width", column_of(records, &Record::relative_width));
  file.numbers("equals_normal", column_of(records, &Record::equals_normal));
  file.numbers("warned", column_of(records, &Record::warned));
  file.numbers("without", column_of(records, &Record::without));
  file.integers("logs", column_of(records, &Record::logs));
  file.texts("message", column_of(records, &Record::message));
  file.commit();
}

}  // namespace scrm
