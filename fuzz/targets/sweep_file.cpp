// A sweep file, and the options of every environment and method that it names.
#include "scrm/experiments/sweep_file.hpp"

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.toml", fuzzing::text_of(data, size));
  fuzzing::read_or_refused([&] {
    const SweepFile sweep(file);
    for (const std::string& environment : sweep.environments()) {
      for (const SweepMethod& method : sweep.methods()) (void)sweep.options({}, environment, method.name);
    }
  });
  return 0;
}
