/// RunDealer: hands out the runs of a sweep to ranks as they become free, the longest first, and those of one problem
/// to one rank while that can be.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/io/archive/run_record.hpp"
#include "sweep/run/run_groups.hpp"

namespace scrm {

/// What a rank says when it asks for more.
struct RankReport {
  std::vector<RunRecord> runs;     ///< finished or failed since it last asked
  double cost = 0;                 ///< that of their groups
  double rows_read = 0;            ///< rows times passes
  std::optional<Failure> failure;  ///< why it cannot go on

  void transfer(ByteStream& bytes);
};

/// On the first rank. Batches begin large and become small: ranks of several threads have enough to do at once, and all
/// end at about the same time. Ranks that find nothing left wait, and are dismissed together.
class RunDealer {
 public:
  /// `threads`: of each rank. `on_report` is called on a thread of the dealer's own, with what other ranks report.
  RunDealer(Ranks& ranks, std::vector<RunGroup> groups, int threads, StopToken stop,
            std::function<void(RankReport)> on_report);
  /// Deals out no more, and waits for the others to end what they have begun.
  ~RunDealer();
  RunDealer(const RunDealer&) = delete;
  RunDealer& operator=(const RunDealer&) = delete;

  /// The next batch for the first rank; empty when nothing is left.
  std::vector<RunGroup> take() { return take(0); }
  /// Waits for the others to end. Throws where one of them could not go on.
  void wait();

 private:
  std::vector<RunGroup> take(int rank);
  void listen();

  Ranks& ranks_;
  std::vector<RunGroup> groups_;        // that are left, the longest first
  std::map<std::size_t, int> holders_;  // the rank that a problem was first given to, which has made it
  std::size_t threads_;
  StopToken stop_;
  std::function<void(RankReport)> on_report_;
  std::mutex mutex_;
  double cost_left_ = 0;
  bool ended_ = false;
  std::optional<Failure> failure_;
  std::thread listener_;
};

/// On every other rank: runs the batches that it is given until there are none left. What `run` throws ends the sweep
/// of all ranks.
void run_dealt(Ranks& ranks, const std::function<RankReport(std::vector<RunGroup>)>& run);

}  // namespace scrm
