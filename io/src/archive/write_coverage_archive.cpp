#include "archive/column_file.hpp"
#include "hdf5/attributes.hpp"
#include "scrm/io/archive/coverage_archive.hpp"

namespace scrm {
namespace {

constexpr const char* kFormat = "scrm-coverage";
constexpr std::int64_t kFormatVersion = 1;

template <class Value>
std::vector<Value> column(const std::vector<CoverageRecord>& records, Value CoverageRecord::*member) {
  std::vector<Value> out;
  for (const CoverageRecord& record : records) out.push_back(record.*member);
  return out;
}

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
  file.texts("design", column(records, &Record::design));
  file.integers("rows", column(records, &Record::rows));
  file.texts("estimator", column(records, &Record::estimator));
  file.texts("interval", column(records, &Record::interval));
  file.numbers("coverage", column(records, &Record::coverage));
  file.numbers("coverage_error", column(records, &Record::coverage_error));
  file.numbers("below", column(records, &Record::below));
  file.numbers("above", column(records, &Record::above));
  file.numbers("relative_width", column(records, &Record::relative_width));
  file.numbers("equals_normal", column(records, &Record::equals_normal));
  file.numbers("warned", column(records, &Record::warned));
  file.numbers("without", column(records, &Record::without));
  file.integers("logs", column(records, &Record::logs));
  file.texts("message", column(records, &Record::message));
  file.commit();
}

}  // namespace scrm
