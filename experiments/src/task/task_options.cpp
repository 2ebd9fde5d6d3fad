#include "task/task_options.hpp"

#include "scrm/engine/ranks/agreement.hpp"

namespace scrm {

MemoryLedger TaskOptions::ledger() const {
  const MemoryLedger own =
      held_before && memory > 0 ? MemoryLedger::beyond(*held_before, memory) : MemoryLedger::of_process(memory);
  if (ranks == nullptr || ranks->alone()) return own;
  return MemoryLedger(static_cast<std::size_t>(least_of_ranks(*ranks, static_cast<std::int64_t>(own.left()))));
}

PassOptions TaskOptions::pass(const std::string& label) const {
  PassOptions options;
  options.threads = threads;
  options.memory = ledger().left();
  if (progress) options.progress = progress(label, "rows");
  options.ranks = ranks;
  options.stop = stop;
  return options;
}

}  // namespace scrm
