#include "text/csv/csv_batches.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "scrm/kernels/block.hpp"

namespace scrm {
namespace {

// More than threads, so that none waits for the longest text.
constexpr std::size_t kSlotsPerThread = 4;
// Of the lines of a slot, and of those that come next.
constexpr std::size_t kTextBytes = std::size_t{1} << 20;

void run_tasks(const CsvImport& import, std::size_t count, const std::function<void(std::size_t)>& task) {
  if (import.parallel) return import.parallel(count, task);
  for (std::size_t i = 0; i < count; ++i) task(i);
}

/// Records from lines that hold no quotes, to a slot.
void split_lines(CsvLines& lines, CsvSplitter& splitter, std::size_t slot, CsvWork& work) {
  char* cursor = lines.text.data();
  char* const end = cursor + lines.size;
  std::int64_t line = lines.first_line;
  for (;;) {
    CsvSplitter::skip_empty_lines(cursor, end, line);
    if (cursor == end) return;
    splitter.split(cursor, end, true, line);
    work.add_to(slot, splitter.fields(), splitter.line());
  }
}

/// Lines on their way through the slots of a piece of work. Three stages work at once, each on a batch of its own: one
/// task reads what comes next, one merges what the batch before has come to, all others split and parse. So slots are
/// two sets that take turns.
class Batches {
 public:
  Batches(CsvReader& reader, const CsvImport& import, std::size_t slots, CsvWork& work)
      : reader_(reader),
        import_(import),
        work_(work),
        set_(std::max<std::size_t>(1, slots / 2)),
        sets_(slots > 1 ? 2 : 1),
        current_(set_),
        next_(set_),
        splitters_(set_, CsvSplitter(reader.path(), import.delimiter)) {}

  /// Works until lines come that only the reader can split, and all before them are merged.
  void run(const std::function<void()>& on_progress) {
    std::size_t before = 0;  // slots of the other set that wait to be merged
    for (std::size_t count = fill(current_), turn = 0; count > 0 || before > 0; turn = (turn + 1) % sets_) {
      const std::size_t first = turn * set_, other = set_ - first;
      // With a single set, its slots must be empty before they are filled again.
      if (sets_ == 1) merge(0, std::exchange(before, 0));
      std::size_t following = 0;
      // The first record in the file that fails is named, not the first in time.
      std::vector<std::exception_ptr> failures(count + 2);
      run_tasks(import_, count + 2, [&](std::size_t task) {
        try {
          if (task == 0)
            following = count > 0 ? fill(next_) : 0;
          else if (task == 1)
            merge(other, before);
          else
            split_lines(current_[task - 2], splitters_[task - 2], first + task - 2, work_);
        } catch (...) {
          failures[task] = std::current_exception();
        }
      });
      if (failures[1]) std::rethrow_exception(failures[1]);
      for (std::size_t slot = 0; slot < count; ++slot) {
        if (!failures[slot + 2]) continue;
        merge(first, slot);
        std::rethrow_exception(failures[slot + 2]);
      }
      if (failures[0]) {
        merge(first, count);
        std::rethrow_exception(failures[0]);
      }
      before = count;
      std::swap(current_, next_);
      count = following;
      on_progress();
    }
  }

 private:
  std::size_t fill(std::vector<CsvLines>& lines) {
    std::size_t count = 0;
    while (count < lines.size() && reader_.take_lines(kBlockRows, lines[count])) ++count;
    return count;
  }

  void merge(std::size_t first, std::size_t count) {
    for (std::size_t slot = first; slot < first + count; ++slot) work_.merge(slot);
  }

  CsvReader& reader_;
  const CsvImport& import_;
  CsvWork& work_;
  std::size_t set_;   // slots in a set
  std::size_t sets_;  // one where there is room for a single slot
  std::vector<CsvLines> current_, next_;
  std::vector<CsvSplitter> splitters_;
};

}  // namespace

std::size_t csv_slots(const CsvImport& import, std::size_t bytes) {
  const std::size_t wanted = kSlotsPerThread * static_cast<std::size_t>(std::max(1, import.threads));
  if (import.memory == 0) return wanted;
  constexpr std::size_t kShare = 20;
  return std::min(wanted, import.memory / kShare / (bytes + kTextBytes));
}

void read_records(CsvReader& reader, const CsvImport& import, std::size_t slots, CsvWork& work,
                  const std::function<void()>& on_progress) {
  Batches batches(reader, import, slots, work);
  bool started = false;
  for (;;) {
    for (int records = 0; records < kBlockRows || slots == 0 || !work.ready(); ++records) {
      if (!reader.next()) return;
      work.add(reader.fields(), reader.line());
      if (records % kBlockRows == kBlockRows - 1) on_progress();
    }
    if (!std::exchange(started, true)) work.start(slots);
    batches.run(on_progress);
  }
}

}  // namespace scrm
