// A Mulan label file.
#include "scrm/io/labelled/arff.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.xml", fuzzing::text_of(data, size));
  fuzzing::read_or_refused([&] { (void)read_label_names(file); });
  return 0;
}
