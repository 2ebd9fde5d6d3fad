#include "scrm/experiments/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "report/clock.hpp"
#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/scheduler.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/io/archive/run_journal.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "sweep/finished_runs.hpp"
#include "sweep/output.hpp"
#include "sweep/part.hpp"
#include "sweep/plan.hpp"
#include "sweep/run/problem_cache.hpp"
#include "sweep/run/run_dealer.hpp"
#include "sweep/run/run_groups.hpp"
#include "sweep/run/run_memory.hpp"
#include "sweep/run/run_rollouts.hpp"

namespace scrm {
namespace {

/// A sweep while it runs.
class SweepRunner {
 public:
  SweepRunner(const SweepFile& file, const SweepOptions& options)
      : file_(file),
        options_(options),
        plan_(file, options.memory),
        mine_(runs_of_part(plan_, options.part.value_or(SweepPart{}))),
        threads_(threads_that_fit()),
        memory_(memory_beside_plan()),
        earlier_(plan_, options),
        problems_(problems_to_keep()) {}

  SweepReport run() {
    if (ranked() && !options_.ranks->is_first()) return run_for_first_rank();
    for (const InapplicableMethod& left_out : plan_.inapplicable()) {
      warn(fmt::format("{} is left out on {}: {}", left_out.method, left_out.environment, left_out.reason));
    }
    validate_output(plan_, file_, options_, earlier_.journal_path());
    earlier_.load();
    static_cast<void>(AtomicFile(options_.out));  // that can be written, or there is nothing to begin with
    const std::vector<RunGroup> groups = group_pending();
    RunJournal journal(earlier_.journal_path(), earlier_.journal_header());
    earlier_.keep(journal.initial_contents().records);
    earlier_.take_over_journals(journal);
    if (ranked()) agree_with_ranks();
    state_.runs = static_cast<std::size_t>(std::count(mine_.begin(), mine_.end(), true));
    state_.done = earlier_.planned();
    const std::size_t unfinished = run_groups(groups, journal);
    SweepReport report;
    report.resumed = earlier_.planned();
    report.unfinished = unfinished;
    report.journal = earlier_.journal_path();
    report.runs = collect();
    report.inapplicable = plan_.inapplicable();
    if (unfinished > 0) return report;
    write_output(plan_, file_, options_, report.runs);
    earlier_.remove_rank_journals();
    journal.remove();
    return report;
  }

 private:
  bool ranked() const { return options_.ranks != nullptr && !options_.ranks->alone(); }

  /// All ranks plan the same runs; the first tells the others what a journal begins with.
  std::string agree_with_ranks() const {
    require_same_on_ranks(*options_.ranks, {{"the runs they plan", plan_.fingerprint()}});
    return text_of_first_rank(*options_.ranks, earlier_.journal_header());
  }

  /// The runs that the first rank hands out to this one, which keeps a journal of its own.
  SweepReport run_for_first_rank() {
    const std::string header = agree_with_ranks();
    std::optional<RunJournal> journal;
    run_dealt(*options_.ranks, [&](const std::vector<RunGroup>& groups) {
      if (!journal) journal.emplace(sweep_journal(options_.out, options_.ranks->rank()), header);
      finished_.clear();
      state_.rows_read = 0;
      RankReport report;
      for (const RunGroup& group : groups) report.cost += group.cost;
      run_batch(groups, *journal, report.cost);
      for (auto& [identity, record] : finished_) report.runs.push_back(std::move(record));
      report.rows_read = state_.rows_read;
      return report;
    });
    return {};
  }

  /// Takes in what another rank has done.
  void add_report(RankReport report, double total) {
    const std::lock_guard lock(mutex_);
    state_.rows_read += report.rows_read;
    state_.share += report.cost / total;
    for (RunRecord& record : report.runs) {
      ++state_.done;
      state_.failed += record.ok ? 0 : 1;
      const std::string identity = record.identity;
      const RunRecord& kept = finished_[identity] = std::move(record);
      this->report(&kept);
    }
  }

  void warn(const std::string& text) const {
    if (options_.on_warning) options_.on_warning(text);
  }

  /// Problems that are kept for runs to come take this share of the memory; runs have the rest.
  static constexpr std::size_t kProblemShare = 8;

  std::size_t problems_to_keep() const {
    std::size_t largest = 1;
    for (const Experiment& experiment : plan_.experiments()) {
      largest = std::max(largest, experiment.shape.problem_bytes);
    }
    return memory_ == 0 ? static_cast<std::size_t>(threads_) : memory_ / kProblemShare / largest;
  }

  /// What a thread holds beyond its run: its stack, and blocks on their way.
  std::size_t thread_bytes() const {
    std::size_t block = 0;
    for (const Experiment& experiment : plan_.experiments()) {
      block = std::max(block, block_buffer_bytes(experiment.shape.schema));
    }
    return kThreadBytes + kWorkingBlocks * block;
  }

  /// As many as asked for, or as a share of the memory allows: nothing else depends on their number.
  int threads_that_fit() const {
    const int wanted = resolve_threads(options_.threads);
    if (options_.memory == 0) return wanted;
    const std::size_t most = options_.memory / kStreamingShare / thread_bytes();
    return static_cast<int>(std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(wanted)));
  }

  /// What the plan has brought into memory, the data of environments above all, is no longer to be had.
  std::size_t memory_beside_plan() const {
    MemoryLedger ledger(options_.memory);
    const std::size_t now = resident_bytes();
    ledger.charge(now - std::min(now, resident_before_), "the data of the environments", "fewer environments");
    ledger.charge(static_cast<std::size_t>(threads_ - 1) * thread_bytes(), "the threads", "fewer --threads");
    return ledger.left();
  }

  /// The runs of this part that are not finished. Where the data of one cannot be had, none is begun: hours later it
  /// would be no better.
  std::vector<RunGroup> group_pending() {
    const auto pending = [this](std::size_t i) {
      return mine_[i] && earlier_.find(plan_.runs()[i].record.identity) == nullptr;
    };
    for (std::size_t i = 0; i < plan_.runs().size(); ++i) {
      const PlannedRun& run = plan_.runs()[i];
      const Experiment& experiment = plan_.experiments()[run.experiment];
      if (experiment.factory == nullptr && pending(i)) {
        finished_[run.record.identity] = without_data(run, experiment);
      }
    }
    return group_runs(plan_, pending, memory_, threads_);
  }

  /// The record of a run whose environment cannot be had: what an earlier invocation made of it.
  RunRecord without_data(const PlannedRun& run, const Experiment& experiment) const {
    for (const auto& [identity, record] : earlier_.records()) {
      if (run_key(record) == run_key(run.record)) return record;
    }
    throw Error(ErrorKind::file, fmt::format("the data of the environment {} cannot be read, and no run was begun: {}",
                                             experiment.environment, experiment.failure));
  }

  std::size_t run_groups(const std::vector<RunGroup>& groups, RunJournal& journal) {
    double total = 0;
    for (const RunGroup& group : groups) total += group.cost;
    if (ranked()) {
      RunDealer dealer(*options_.ranks, groups, threads_, options_.stop,
                       [this, total](RankReport report) { add_report(std::move(report), total); });
      for (std::vector<RunGroup> batch = dealer.take(); !batch.empty(); batch = dealer.take())
        run_batch(batch, journal, total);
      dealer.wait();
    } else {
      run_batch(groups, journal, total);
    }
    std::size_t unfinished = 0;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      const std::string& identity = plan_.runs()[i].record.identity;
      unfinished += mine_[i] && earlier_.find(identity) == nullptr && finished_.count(identity) == 0 ? 1 : 0;
    }
    return unfinished;
  }

  /// `total` is the cost of what progress is measured by.
  void run_batch(const std::vector<RunGroup>& groups, RunJournal& journal, double total) {
    std::vector<Job> jobs;
    for (const RunGroup& group : groups) {
      const RunRecord& first = plan_.runs()[group.runs.front()].record;
      jobs.push_back({run_key(first), group.cost, group.memory, [this, &group, &journal, total](const StopToken& stop) {
                        run_group(group, journal, total, stop);
                      }});
    }
    SchedulerOptions scheduler;
    scheduler.threads = threads_;
    scheduler.memory = memory_ - memory_ / kProblemShare;
    scheduler.stop = options_.stop;
    scheduler.shuffle_seed = options_.shuffle_seed;
    std::map<std::string, const RunGroup*> by_name;
    for (std::size_t i = 0; i < groups.size(); ++i) by_name[jobs[i].name] = &groups[i];
    scheduler.on_refused = [&](const Job& job, const Error& error) {
      const RunGroup& group = *by_name[job.name];
      fail(group, group.hint.empty() ? error.what() : fmt::format("{}, or {}", error.what(), group.hint));
    };
    // Runs that fail are recorded as such; what arrives here is a journal that cannot be written to. Runs that would be
    // thrown away are not begun: a callback that throws ends the starting of jobs.
    scheduler.on_failed = [](const Job&, const std::exception_ptr& failure) { std::rethrow_exception(failure); };
    run_jobs(std::move(jobs), scheduler);
  }

  void run_group(const RunGroup& group, RunJournal& journal, double total, const StopToken& stop) {
    const Experiment& experiment = plan_.experiments()[group.experiment];
    const Stopwatch watch;
    std::vector<RunRecord> results;
    try {
      results = run_group_rollouts(group, total, stop);
    } catch (const StopRequested&) {
      throw;
    } catch (const std::bad_alloc&) {
      return fail(group, "out of memory");
    } catch (const std::exception& error) {
      return fail(group, error.what());
    }
    const double seconds = watch.seconds();
    for (std::size_t r = 0; r < results.size(); ++r) {
      const RunRecord& planned = plan_.runs()[group.runs[r]].record;
      RunRecord& record = results[r];
      record.environment = planned.environment;
      record.method = planned.method;
      record.hyperparameter = planned.hyperparameter;
      record.lambda_rule = planned.lambda_rule;
      record.seed = planned.seed;
      record.identity = planned.identity;
      if (!experiment.method.method->has_lambda) record.numbers.erase("l2");
      record.seconds = seconds / static_cast<double>(results.size());
      journal.append(record);
      finish(std::move(record));
    }
  }

  std::vector<RunRecord> run_group_rollouts(const RunGroup& group, double total, const StopToken& stop) {
    const Experiment& experiment = plan_.experiments()[group.experiment];
    std::vector<HyperParameters> parameters;
    for (const std::size_t run : group.runs) parameters.push_back(plan_.runs()[run].parameters);
    const auto problem = problems_.get(*experiment.factory, static_cast<std::uint64_t>(group.seed), experiment.options);
    PassOptions pass;
    pass.threads = threads_;
    pass.memory = group.rows_memory;
    const LearnerSetup setup{*problem, experiment.options, parameters, static_cast<std::uint64_t>(group.seed), pass,
                             stop};
    const auto rows_before = [&](int batch) {
      return static_cast<double>(experiment.shape.rows_before.at(static_cast<std::size_t>(batch)));
    };
    double before = 0;
    return run_rollouts(*experiment.method.method, setup, [&](int done, double rows_read) {
      const double now = rows_before(done) / rows_before(experiment.options.rollouts);
      const std::lock_guard lock(mutex_);
      state_.rows_read += rows_read;
      state_.share += (now - before) * group.cost / total;
      before = now;
      report(nullptr);
    });
  }

  void finish(RunRecord record) {
    const std::lock_guard lock(mutex_);
    ++state_.done;
    const RunRecord& kept = finished_[record.identity] = std::move(record);
    report(&kept);
  }

  void fail(const RunGroup& group, const std::string& message) {
    const std::lock_guard lock(mutex_);
    for (const std::size_t run : group.runs) {
      RunRecord record = plan_.runs()[run].record;
      record.ok = false;
      record.message = message;
      ++state_.done;
      ++state_.failed;
      const RunRecord& kept = finished_[record.identity] = std::move(record);
      report(&kept);
    }
  }

  void report(const RunRecord* last) {
    if (!options_.on_progress) return;
    state_.last = last;
    options_.on_progress(state_);
  }

  /// All runs in the plan's order, and with those of their environment what earlier invocations finished and this file
  /// no longer asks for.
  std::vector<RunRecord> collect() {
    std::vector<RunRecord> out;
    std::set<std::string> asked;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      if (!mine_[i]) continue;
      const std::string& identity = plan_.runs()[i].record.identity;
      asked.insert(identity);
      if (const RunRecord* old = earlier_.find(identity)) {
        out.push_back(*old);
      } else if (const auto now = finished_.find(identity); now != finished_.end()) {
        out.push_back(now->second);
        asked.insert(now->second.identity);
      } else {
        continue;
      }
      if (options_.part) out.back().numbers[kPlanIndex] = static_cast<double>(i);
    }
    const std::size_t planned = out.size();
    for (const auto& [identity, record] : earlier_.records()) {
      if (asked.count(identity) == 0) out.push_back(record);
    }
    group_by_experiment(out, planned);
    return out;
  }

  const SweepFile& file_;
  const SweepOptions& options_;
  std::size_t resident_before_ = resident_bytes();
  SweepPlan plan_;
  std::vector<bool> mine_;  // runs of the plan that this part does
  int threads_;
  std::size_t memory_;    // for runs and their problems; 0: no limit
  FinishedRuns earlier_;  // before this invocation
  ProblemCache problems_;
  std::map<std::string, RunRecord> finished_;  // in this invocation, by identity
  std::mutex mutex_;
  SweepState state_;
};

}  // namespace

SweepReport run_sweep(const SweepFile& file, const SweepOptions& options) {
  return SweepRunner(file, options).run();
}

}  // namespace scrm
