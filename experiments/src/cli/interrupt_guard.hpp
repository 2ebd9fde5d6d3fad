/// InterruptGuard: Ctrl-C as a request to stop, for commands that keep what is finished.
#pragma once

#include <csignal>

#include "cli/outputs.hpp"
#include "scrm/engine/schedule/stop_token.hpp"

namespace scrm {

/// While it lives, the first Ctrl-C (a polite kill, the end of the terminal) asks the sweep to stop; the second one
/// ends the program, which loses no finished run either.
class InterruptGuard {
 public:
  explicit InterruptGuard(const StopToken& stop) {
    token() = stop;
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, &InterruptGuard::request);
    if (std::signal(SIGHUP, &InterruptGuard::request) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
  }
  ~InterruptGuard() { set_up_signals(); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  // A signal handler takes no argument of ours: what it needs has to be static.
  static StopToken& token() {
    static StopToken instance;
    return instance;
  }
  static void request(int signal) {
    token().request();
    std::signal(signal, end_by_signal);
  }
};

}  // namespace scrm
