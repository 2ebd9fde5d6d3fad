#include "ranks/mpi_ranks.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "ranks/launcher_watch.hpp"

namespace scrm {
namespace {

// MPI counts bytes in an int: longer messages go in pieces, of which the first begins with the length of all.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;
constexpr int kTag = 19;

/// MPI waits at full speed, and its ranks may share cores with others at work: this asks often at first and then
/// sleeps.
class Patience {
 public:
  void wait() {
    if (++asked_ < kYields) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, kLongest);
  }

 private:
  static constexpr int kYields = 2000;
  static constexpr std::chrono::microseconds kLongest{500};
  int asked_ = 0;
  std::chrono::microseconds pause_{20};
};

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_SERIALIZED) abort("this MPI does not allow threads; use one that does");
    find_neighbours();
  }
  ~MpiRanks() override {
    MPI_Finalize();
    launcher_.finish();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int local_ranks() const noexcept override { return local_ranks_; }
  int cores() const noexcept override { return cores_; }

  void send(int to, const Bytes& message) override {
    const std::uint64_t length = message.size();
    const std::size_t first = std::min(message.size(), kPieceBytes);
    Bytes begin(sizeof length + first);
    std::memcpy(begin.data(), &length, sizeof length);
    std::copy_n(message.begin(), first, begin.begin() + sizeof length);
    send_piece(to, begin.data(), begin.size());
    for (std::size_t at = first; at < message.size(); at += kPieceBytes)
      send_piece(to, message.data() + at, std::min(kPieceBytes, message.size() - at));
  }

  Bytes receive(int from) override { return receive_from(from).second; }
  std::pair<int, Bytes> receive_any() override { return receive_from(MPI_ANY_SOURCE); }

  void abort(const std::string& why) override {
    std::fprintf(stderr, "scrm: error: rank %d of %d: %s\n", rank_, size_, why.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

 private:
  static void send_piece(int to, const std::byte* data, std::size_t count) {
    MPI_Request request;
    MPI_Isend(data, static_cast<int>(count), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &request);
    Patience patience;
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      patience.wait();
    }
  }

  /// One piece, and whom it is from.
  static std::pair<int, Bytes> receive_piece(int from) {
    MPI_Message message;
    MPI_Status status;
    Patience patience;
    for (int there = 0;;) {
      MPI_Improbe(from, kTag, MPI_COMM_WORLD, &there, &message, &status);
      if (there != 0) break;
      patience.wait();
    }
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Bytes piece(static_cast<std::size_t>(count));
    MPI_Mrecv(piece.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return {status.MPI_SOURCE, std::move(piece)};
  }

  static std::pair<int, Bytes> receive_from(int from) {
    auto [source, message] = receive_piece(from);
    std::uint64_t length = 0;
    std::memcpy(&length, message.data(), sizeof length);
    message.erase(message.begin(), message.begin() + sizeof length);
    while (message.size() < length) {
      const Bytes more = receive_piece(source).second;
      message.insert(message.end(), more.begin(), more.end());
    }
    return {source, std::move(message)};
  }

  /// A core that several ranks of this machine may use counts for each of them in part.
  void find_neighbours() {
    MPI_Comm machine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &local_ranks_);
    cpu_set_t own;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    std::vector<cpu_set_t> all(static_cast<std::size_t>(local_ranks_));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, machine);
    MPI_Comm_free(&machine);
    double share = 0;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &own)) continue;
      share += 1.0 / static_cast<double>(std::count_if(
                         all.begin(), all.end(), [core](const cpu_set_t& one) { return CPU_ISSET(core, &one) != 0; }));
    }
    cores_ = std::max(1, static_cast<int>(share + 1e-6));  // thirds add up to a little less than one
  }

  LauncherWatch launcher_;  // made before MPI is started
  int rank_ = 0, size_ = 1, local_ranks_ = 1, cores_ = 1;
};

}  // namespace

std::unique_ptr<Ranks> start_mpi_ranks() {
  return std::make_unique<MpiRanks>();
}

}  // namespace scrm
