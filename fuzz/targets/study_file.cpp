// A study file: the data sets that it names, and its numbers.
#include "study/study_file.hpp"

#include <algorithm>
#include <optional>

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.toml", fuzzing::text_of(data, size));
  std::optional<StudyFile> study;
  if (!fuzzing::read_or_refused([&] { study.emplace(file); })) return 0;
  fuzzing::require(!study->data.empty(), "a study is about something");
  fuzzing::require(std::all_of(study->rows.begin(), study->rows.end(), [](std::int64_t rows) { return rows > 0; }),
                   "a log has rows");
  fuzzing::require(study->logs.value_or(1) > 0, "there are logs");
  fuzzing::require(study->seed.value_or(0) >= 0, "an archive can hold the seed");
  return 0;
}
