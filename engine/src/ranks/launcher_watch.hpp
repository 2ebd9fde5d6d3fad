/// LauncherWatch: ends a launcher (mpirun) that does not end after one of its ranks has died.
#pragma once

namespace scrm {

/// libpmix 4.2.2, Debian 12's, frees what it knows of a rank that dies while it connects, and uses it again when mpirun
/// ends: mpirun then waits for a lock in freed memory, long after the last rank. So every rank has a small process
/// beside it, from before it connects, which outlives it.
class LauncherWatch {
 public:
  /// Starts the process, where the launcher is one of OpenMPI's. To be called before MPI starts.
  LauncherWatch() noexcept;
  /// The rank has come to its end, and the launcher may take as long as it likes.
  void finish() noexcept;

 private:
  int rank_lives_ = -1;  // a pipe to the process, which the system closes when the rank dies
};

}  // namespace scrm
