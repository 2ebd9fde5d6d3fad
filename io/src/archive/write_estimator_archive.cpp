#include "archive/column_file.hpp"
#include "scrm/io/archive/estimator_archive.hpp"

namespace scrm {

void write_estimator_archive(const std::string& path, const EstimatorArchive& archive) {
  const hdf5::Lock lock;
  ColumnFile file(path, "study");
  write_study_facts(file, "scrm-estimators", archive.seed, archive.version);

  using Record = EstimatorRecord;
  const std::vector<Record>& records = archive.records;
  file.texts("design", column_of(records, &Record::design));
  file.integers("rows", column_of(records, &Record::rows));
  file.texts("estimator", column_of(records, &Record::estimator));
  file.integers("logs", column_of(records, &Record::logs));
  file.integers("undefined", column_of(records, &Record::undefined));
  file.numbers("truth", column_of(records, &Record::truth));
  file.numbers("bias", column_of(records, &Record::bias));
  file.numbers("bias_error", column_of(records, &Record::bias_error));
  file.numbers("variance", column_of(records, &Record::variance));
  file.numbers("variance_error", column_of(records, &Record::variance_error));
  file.numbers("mse", column_of(records, &Record::mse));
  file.numbers("mse_error", column_of(records, &Record::mse_error));
  file.commit();
}

}  // namespace scrm
