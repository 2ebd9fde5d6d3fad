// A journal of a sweep: read, and gone on with.
#include "scrm/io/archive/run_journal.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.journal", fuzzing::text_of(data, size));
  fuzzing::read_or_refused([&] {
    const auto before = read_journal(file);
    if (!before) return;
    {
      RunJournal journal(file, before->header_text);
      fuzzing::require(journal.initial_contents().records.size() == before->records.size(),
                       "opened, it holds what was read");
      journal.append({});
    }
    const auto after = read_journal(file);
    fuzzing::require(after && after->torn_bytes == 0 && after->records.size() == before->records.size() + 1,
                     "an appended run stands behind the whole ones");
  });
  return 0;
}
