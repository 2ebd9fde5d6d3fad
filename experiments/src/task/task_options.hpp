/// TaskOptions: what a task may use and whom it tells how far it is, whoever starts it: a command, or Python.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

struct TaskOptions {
  int threads = 0;         ///< 0: all cores
  std::size_t memory = 0;  ///< bytes; 0: no limit
  /// Bytes of the process that are not the task's, such as the arrays of whoever called it: they do not count. Unset in
  /// a process that is all its own, which then also returns what it frees.
  std::optional<std::size_t> held_before = {};
  Ranks* ranks = nullptr;  ///< that share the work, where all of them run the same task; null: one process does it
  StopToken stop = {};
  /// Whom work of this name tells how much of it is done, in `unit` (empty: shares of all); null: nobody.
  std::function<Progress(const std::string& label, const std::string& unit)> progress = {};
  std::function<void(const std::string& text)> warn = {};

  /// What is left of the memory; on ranks, to be asked by all of them: they get the same, so that they decide the same.
  MemoryLedger ledger() const;
  PassOptions pass(const std::string& label) const;
  void warning(const std::string& text) const {
    if (warn) warn(text);
  }
};

/// A policy and the name it goes by in reports and errors: that of its file.
struct PolicyFile {
  std::string name;
  Policy policy;
};

}  // namespace scrm
