#include "task/task_options.hpp"

namespace scrm {

MemoryLedger TaskOptions::ledger() const {
  return held_before && memory > 0 ? MemoryLedger::beyond(*held_before, memory) : MemoryLedger::of_process(memory);
}

PassOptions TaskOptions::pass(const std::string& label) const {
  PassOptions options;
  options.threads = threads;
  options.memory = ledger().left();
  if (progress) options.progress = progress(label, "rows");
  options.stop = stop;
  return options;
}

}  // namespace scrm
