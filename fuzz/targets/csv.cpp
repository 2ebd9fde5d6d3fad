// A CSV file with the header x,y,a,b,l,p,t to shards, as each kind of action, and to contexts.
#include <cstdio>

#include "scrm/io/import/csv_contexts.hpp"
#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "target.hpp"

namespace {

using namespace scrm;

CsvImport import_of(const std::string& file, std::size_t size) {
  CsvImport import;
  import.files = {file};
  import.out = fuzzing::path_of("out.h5");
  import.overwrite = true;
  import.context = {"x", "y"};
  import.action = {"a"};
  import.loss = "l";
  import.propensity = "p";
  import.targets = {{ "t", "t" }};
  import.skip_bad_rows = size % 2 == 0;
  if (size % 4 == 1) {
    import.categorical = {"y"};
    import.impute = Impute::mean;
    import.encoding = fuzzing::path_of("encoding.toml");
    std::remove(import.encoding.c_str());
  }
  import.delimiter = size % 5 == 0 ? ';' : ',';
  import.action_kind = size % 3 == 0   ? ActionKind::continuous
                       : size % 3 == 1 ? ActionKind::categorical
                                       : ActionKind::multilabel;
  if (import.action_kind == ActionKind::multilabel) import.action = {"a", "b"};
  return import;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = fuzzing::write_file("in.csv", fuzzing::text_of(data, size));
  std::remove(fuzzing::path_of("out.h5").c_str());
  std::remove(fuzzing::path_of("contexts.h5").c_str());
  if (size % 7 == 0) {
    fuzzing::read_or_refused(
        [&] { import_csv_contexts({.file = file, .context = {"x:y"}, .shard = fuzzing::path_of("contexts.h5")}); });
    return 0;
  }
  ImportResult result;
  const CsvImport import = import_of(file, size);
  if (!fuzzing::read_or_refused([&] { result = import_csv(import); })) return 0;
  ReadOptions read;
  read.all_targets = true;
  fuzzing::require(Dataset({import.out}, read).rows() == result.rows, "a shard holds the rows that were imported");
  return 0;
}
