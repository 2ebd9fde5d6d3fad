#include "archive/column_file.hpp"
#include "hdf5/attributes.hpp"
#include "scrm/io/archive/coverage_archive.hpp"

namespace scrm {

void write_coverage_archive(const std::string& path, const CoverageArchive& archive) {
  const hdf5::Lock lock;
  ColumnFile file(path, "study");
  write_study_facts(file, "scrm-coverage", archive.seed, archive.version);
  if (!write_attribute(file.root(), "level", archive.level)) file.fail("", "cannot write the attributes");

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
  file.numbers("median_width", column_of(records, &Record::median_width));
  file.numbers("equals_normal", column_of(records, &Record::equals_normal));
  file.numbers("warned", column_of(records, &Record::warned));
  file.numbers("warned_any", column_of(records, &Record::warned_any));
  file.numbers("warned_ess", column_of(records, &Record::warned_ess));
  file.numbers("without", column_of(records, &Record::without));
  file.integers("logs", column_of(records, &Record::logs));
  file.texts("message", column_of(records, &Record::message));
  file.commit();
}

}  // namespace scrm
