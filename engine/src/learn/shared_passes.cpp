#include "learn/shared_passes.hpp"

#include <utility>

namespace scrm {

ObjectiveValue SharedPasses::evaluate(ObjectiveProblem problem) {
  Request request{std::move(problem), {}, nullptr, false};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&request);
  run_if_complete(lock);
  answered_.wait(lock, [&request] { return request.done; });
  if (request.failure) std::rethrow_exception(request.failure);
  return std::move(request.answer);
}

void SharedPasses::leave() {
  std::unique_lock lock(mutex_);
  --active_;
  run_if_complete(lock);
}

void SharedPasses::run_if_complete(std::unique_lock<std::mutex>& lock) {
  if (waiting_.empty() || waiting_.size() < active_) return;
  const std::vector<Request*> batch = std::exchange(waiting_, {});
  std::vector<ObjectiveProblem> problems;
  for (Request* request : batch) problems.push_back(std::move(request->problem));
  // Every other search is asleep until `done`, so nobody can come in while the pass runs unlocked.
  lock.unlock();
  std::vector<ObjectiveValue> answers;
  std::exception_ptr failure;
  try {
    answers = evaluate_objectives(source_, problems, options_, skip_bad_rows_);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (failure) {
      batch[i]->failure = failure;
    } else {
      batch[i]->answer = std::move(answers[i]);
    }
    batch[i]->done = true;
  }
  answered_.notify_all();
}

}  // namespace scrm
