/// probe_threads: how many threads the system would start now.
#pragma once

namespace scrm::python {

struct ProbedThreads {
  int started = 0;
  int error = 0;  ///< what the system said when it refused one; 0 when there were as many as were asked for
};

/// Starts up to `count` threads at once and ends them again. TBB makes its threads in the middle of a loop and aborts
/// the process when one is refused, which happens under `ulimit -v`, `ulimit -u` or a container's limit. A program can
/// keep threads ready for it, a guest in another process can only ask beforehand.
ProbedThreads probe_threads(int count);

}  // namespace scrm::python
