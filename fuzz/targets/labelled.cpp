// A labelled data set in HDF5.
#include "scrm/io/labelled/labelled_file.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.h5", fuzzing::text_of(data, size));
  (void)is_labelled(file);
  fuzzing::read_or_refused([&] { (void)read_labelled(file); });
  return 0;
}
