// The recipe of an encoding: what is read is written back to the same text.
#include "scrm/io/import/encoding.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.toml", fuzzing::text_of(data, size));
  Encoding encoding;
  if (!fuzzing::read_or_refused([&] { encoding = read_encoding(file, 0); })) return 0;
  const std::string text = encoding_text(encoding);
  const std::string again = fuzzing::write_file("again.toml", text);
  fuzzing::require(encoding_text(read_encoding(again, 0)) == text, "an encoding reads back to itself");
  return 0;
}
