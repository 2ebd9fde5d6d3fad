#include "sweep/run/run_dealer.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "scrm/io/archive/run_serialization.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

void transfer(ByteStream& bytes, RunRecord& run) {
  std::string fields = bytes.reads() ? "" : serialize_run(run);
  transfer(bytes, fields);
  if (!bytes.reads()) return;
  std::optional<RunRecord> received = deserialize_run(fields);
  // Ranks of another version are refused at the start.
  if (!received) throw Error(ErrorKind::run, "another rank sent a run that cannot be read");
  run = std::move(*received);
}

void transfer(ByteStream& bytes, RunGroup& group) {
  transfer(bytes, group.experiment);
  transfer(bytes, group.seed);
  transfer(bytes, group.runs);
  transfer(bytes, group.problem);
  transfer(bytes, group.cost);
  transfer(bytes, group.memory);
  transfer(bytes, group.rows_memory);
  transfer(bytes, group.hint);
}

void RankReport::transfer(ByteStream& bytes) {
  scrm::transfer(bytes, runs);
  scrm::transfer(bytes, cost);
  scrm::transfer(bytes, rows_read);
  scrm::transfer(bytes, failure);
}

RunDealer::RunDealer(Ranks& ranks, std::vector<RunGroup> groups, int threads, StopToken stop,
                     std::function<void(RankReport)> on_report)
    : ranks_(ranks),
      groups_(std::move(groups)),
      threads_(static_cast<std::size_t>(threads)),
      stop_(std::move(stop)),
      on_report_(std::move(on_report)) {
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](const RunGroup& a, const RunGroup& b) { return a.cost > b.cost; });
  for (const RunGroup& group : groups_) cost_left_ += group.cost;
  listener_ = std::thread([this] {
    try {
      listen();
    } catch (const std::exception& error) {
      ranks_.abort(error.what());  // the others would wait for ever
    }
  });
}

RunDealer::~RunDealer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  if (listener_.joinable()) listener_.join();
}

std::vector<RunGroup> RunDealer::take(int rank) {
  // A rank gets half of its share of what is left, and as many groups as it has threads at least.
  constexpr double kShare = 0.5;
  const std::lock_guard lock(mutex_);
  std::vector<RunGroup> batch;
  if (ended_ || failure_ || stop_.requested()) return batch;
  const double wanted = kShare * cost_left_ / ranks_.size();
  double cost = 0;
  bool full = false;
  // What another rank holds would be made a second time: such groups are taken only where nothing else is left.
  for (const bool held_elsewhere : {false, true}) {
    if (held_elsewhere && batch.size() >= threads_) break;
    std::vector<RunGroup> left;
    for (RunGroup& group : groups_) {
      const auto holder = holders_.find(group.problem);
      const bool elsewhere = holder != holders_.end() && holder->second != rank;
      // The short ones stay for the end, where they let all ranks end together.
      full = full || (elsewhere == held_elsewhere && batch.size() >= threads_ && cost + group.cost > wanted);
      if (elsewhere != held_elsewhere || full) {
        left.push_back(std::move(group));
        continue;
      }
      holders_.try_emplace(group.problem, rank);
      cost += group.cost;
      batch.push_back(std::move(group));
    }
    groups_ = std::move(left);
  }
  cost_left_ -= cost;
  return batch;
}

void RunDealer::wait() {
  listener_.join();
  if (failure_) throw Error(failure_->kind, failure_->message);
}

void RunDealer::listen() {
  const auto answer = [this](int rank, std::vector<RunGroup> batch) {
    ByteStream message;
    transfer(message, batch);
    ranks_.send(rank, message.take());
  };
  // Dismissed together: what a rank sends after that is no report.
  std::vector<int> idle;
  while (static_cast<int>(idle.size()) + 1 < ranks_.size()) {
    auto [rank, bytes] = ranks_.receive_any();
    ByteStream message(std::move(bytes));
    RankReport report;
    report.transfer(message);
    if (report.failure) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = report.failure;
    }
    const bool failed = report.failure.has_value();
    on_report_(std::move(report));
    std::vector<RunGroup> batch = failed ? std::vector<RunGroup>{} : take(rank);
    if (batch.empty()) {
      idle.push_back(rank);
    } else {
      answer(rank, std::move(batch));
    }
  }
  for (const int rank : idle) answer(rank, {});
}

void run_dealt(Ranks& ranks, const std::function<RankReport(std::vector<RunGroup>)>& run) {
  RankReport report;
  std::exception_ptr failure;
  for (;;) {
    ByteStream message;
    report.transfer(message);
    ranks.send(0, message.take());
    std::vector<RunGroup> batch;
    ByteStream answer(ranks.receive(0));
    transfer(answer, batch);
    if (batch.empty()) break;
    try {
      report = run(std::move(batch));
    } catch (...) {
      failure = std::current_exception();
      report = {};
      report.failure = current_failure(ranks);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace scrm
