// An ARFF file, its labels the last two attributes or those named l1 and l2.
#include "scrm/io/labelled/arff.hpp"

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.arff", fuzzing::text_of(data, size));
  ArffOptions options;
  if (size % 2 == 0) {
    options.labels = 2;
  } else {
    options.label_names = {"l1", "l2"};
  }
  LabelledData read;
  if (!fuzzing::read_or_refused([&] { read = read_arff(file, options); })) return 0;
  fuzzing::require(read.label.size() == static_cast<std::size_t>(read.rows * read.labels), "every row has its labels");
  fuzzing::require(read.sparse || read.context.size() == static_cast<std::size_t>(read.rows * read.features),
                   "every row has its features");
  return 0;
}
