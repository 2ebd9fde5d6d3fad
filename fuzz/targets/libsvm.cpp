// A LIBSVM file, its numbers derived or given.
#include "scrm/io/labelled/libsvm.hpp"

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.svm", fuzzing::text_of(data, size));
  LibsvmOptions options;
  if (size % 2 == 0) options.labels = 6;
  if (size % 3 == 0) options.features = 300;
  if (size % 5 == 0) options.first_label = options.first_feature = 0;
  LabelledData read;
  if (!fuzzing::read_or_refused([&] { read = read_libsvm(file, options); })) return 0;
  fuzzing::require(read.indptr.size() == static_cast<std::size_t>(read.rows) + 1, "every row has its entries");
  for (const std::int32_t index : read.indices) {
    fuzzing::require(index >= 0 && index < read.features, "every entry is one of the features");
  }
  return 0;
}
