// A result archive.
#include "scrm/io/archive/result_archive.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.h5", fuzzing::text_of(data, size));
  fuzzing::read_or_refused([&] { (void)read_archive(file); });
  return 0;
}
