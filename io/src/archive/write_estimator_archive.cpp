#include "archive/column_file.hpp"
#include "hdf5/attributes.hpp"
#include "scrm/io/archive/estimator_archive.hpp"

namespace scrm {
namespace {

constexpr const char* kFormat = "scrm-estimators";
constexpr std::int64_t kFormatVersion = 1;

}  // namespace

void write_estimator_archive(const std::string& path, const EstimatorArchive& archive) {
  const hdf5::Lock lock;
  ColumnFile file(path, "study");
  const hid_t root = file.root();
  const bool good = write_attribute(root, "format", std::string(kFormat)) &&
                    write_attribute(root, "format_version", kFormatVersion) &&
                    write_attribute(root, "seed", archive.seed) && write_attribute(root, "version", archive.version);
  if (!good) file.fail("", "cannot write the attributes");

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
