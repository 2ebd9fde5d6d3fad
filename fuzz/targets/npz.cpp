// An .npz archive to shards: its directory, its arrays' headers and their numbers.
#include "scrm/io/import/npz_import.hpp"

#include "scrm/io/shard/dataset.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  NpzImport import;
  import.file = fuzzing::write_file("in.npz", fuzzing::text_of(data, size));
  import.out = fuzzing::path_of("out.h5");
  import.overwrite = true;
  import.skip_bad_rows = size % 2 == 0;
  import.memory = std::size_t{64} << 20;
  std::remove(import.out.c_str());
  ImportResult result;
  if (!fuzzing::read_or_refused([&] { result = import_npz(import); })) return 0;
  fuzzing::require(Dataset({import.out}, {}).rows() == result.rows, "a shard holds the rows that were imported");
  return 0;
}
