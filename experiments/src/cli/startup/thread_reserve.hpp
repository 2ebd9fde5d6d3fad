/// Threads before the work begins: those of a command, made where a refusal can still be dealt with, and a stack that
/// is large enough for the one it runs on.
#pragma once

#include <functional>

namespace scrm {

struct ReservedThreads {
  int started = 0;  ///< threads that wait for TBB to take them
  int error = 0;    ///< what the system said when it refused one; 0 when there are as many as were asked for
};

/// Makes up to `count` threads, on which everything that TBB starts later will run. TBB makes its threads in the middle
/// of a loop and cannot go on when one is refused, which happens under `ulimit -v`, `ulimit -u` or a container's limit.
/// Where address space is limited there are no more than half of it has room for. To be called once, with the most
/// threads that will ever be in use beside the caller's.
ReservedThreads reserve_threads(int count);

/// Calls program(): here, or where the stack is tiny (`ulimit -s 64`) on a thread whose stack is not.
int run_with_enough_stack(const std::function<int()>& program);

}  // namespace scrm
