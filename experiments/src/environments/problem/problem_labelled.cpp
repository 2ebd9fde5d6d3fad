#include "environments/problem/problem_labelled.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "environments/problem/labelled_transforms.hpp"
#include "environments/problem/problem_factories.hpp"
#include "environments/record_actions.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/kernels/vector/shuffle.hpp"

namespace scrm {
namespace {

constexpr double kTestShare = 0.33;
constexpr double kFirstPolicyShare = 0.05;
// A stream of the seed, next to those of rows.
constexpr std::uint32_t kShuffleStream = 0x5B1F;

/// Rows [0, n) in an order drawn from the seed.
std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(seed, kShuffleStream, 0);
  shuffle(std::span(order), random);
  return order;
}

}  // namespace

LabelledProblem::LabelledProblem(std::shared_ptr<const LabelledData> data, ProblemShape shape, std::uint64_t seed,
                                 const RunOptions& options)
    : BanditProblem(std::move(shape)), data_(std::move(data)), seed_(seed), options_(options) {
  const std::vector<std::int64_t> order = shuffled(data_->rows, seed);
  const std::int64_t test_rows = labelled_test_rows(data_->rows);
  test_.assign(order.begin(), order.begin() + test_rows);
  train_.assign(order.begin() + test_rows, order.end());
  test_contexts_ = contexts(test_, 0, test_rows, false);
}

std::span<const std::int64_t> LabelledProblem::first_policy_rows() const {
  return std::span(train_).first(static_cast<std::size_t>(kFirstPolicyShare * static_cast<double>(train_.size())));
}

void LabelledProblem::visit_test_scores(
    const Policy& policy, const std::function<void(const FilledBlock& block, const double* scores)>& visit) const {
  const auto target = make_target_policy(policy, test_schema(), "the tested policy");
  PolicyScratch scratch, columns;
  for (const FilledBlock& block : test_contexts_) {
    double* scores = columns.columns(0, data_->labels);
    target->scores(block.buffer->view(0, block.rows), scratch, scores);
    visit(block, scores);
  }
}

void LabelledProblem::set_first_policy(Policy policy) {
  first_ = std::move(policy);
  start_ = first_;
  start_.theta.assign(start_.theta.size(), 0.0);
}

std::unique_ptr<Source> LabelledProblem::batch(const LoggingPolicy& logging_policy, int batch) const {
  auto source = std::make_unique<MemorySource>(schema());
  std::vector<FilledBlock> blocks = contexts(train_, begin(batch), begin(batch + 1), true);
  std::shared_ptr<const TargetPolicy> target;
  if (!logging_policy.rule) target = make_target_policy(logging_policy.policy, schema(), "the deployed policy");
  ActingScratch scratch;
  for (FilledBlock& filled : blocks) {
    if (logging_policy.rule) {
      (*logging_policy.rule)(acted_block(filled), *filled.buffer);
      record_unit_propensities(acted_block(filled), *filled.buffer);
    } else {
      act(logging_policy, *target, filled, scratch);
    }
    compute_losses(filled);
    source->append(std::move(filled.buffer), filled.rows);
  }
  return source;
}

void LabelledProblem::act(const LoggingPolicy& logging_policy, const TargetPolicy& target, const FilledBlock& filled,
                          ActingScratch& scratch) const {
  double* scores = scratch.columns.columns(0, 1 + data_->labels) + kBlockRows;
  const ActionSampler sampler{logging_policy.policy, target, {seed_, 0}, false};
  record_actions(sampler, acted_block(filled), {scratch.policy, scores, scores - kBlockRows}, *filled.buffer);
}

Schema LabelledProblem::context_schema(bool logged, RowStage stage) const {
  Schema schema = shape().schema;
  if (!logged) schema.replays = 1;
  if (!logged) schema.stage = stage;
  return schema;
}

std::int64_t LabelledProblem::begin(int batch) const {
  return shape().rows_before.at(static_cast<std::size_t>(batch)) / options_.replays;
}

std::vector<LabelledProblem::FilledBlock> LabelledProblem::contexts(const std::vector<std::int64_t>& rows,
                                                                    std::int64_t first, std::int64_t last,
                                                                    bool logged) const {
  const Schema schema = context_schema(logged, RowStage::contexts);
  const int replays = schema.replays;
  const int most = kBlockRows / replays;
  std::vector<FilledBlock> out;
  for (; first < last; first += most) {
    const int count = static_cast<int>(std::min<std::int64_t>(most, last - first));
    FilledBlock filled{std::make_unique<BlockBuffer>(schema), first, count * replays};
    BlockBuffer& buffer = *filled.buffer;
    for (int i = 0; i < count; ++i) {
      visit_row(*data_, rows[static_cast<std::size_t>(first + i)], [&](std::int64_t j, double value) {
        if (data_->sparse) {
          buffer.indices().push_back(static_cast<std::int32_t>(j));
          buffer.values().push_back(value);
        } else {
          buffer.context_f64()[j * buffer.context_stride() + i] = value;
        }
      });
      if (data_->sparse) buffer.indptr()[i + 1] = static_cast<std::int64_t>(buffer.values().size());
    }
    out.push_back(std::move(filled));
  }
  return out;
}

std::int64_t labelled_test_rows(std::int64_t rows) {
  return static_cast<std::int64_t>(std::ceil(kTestShare * static_cast<double>(rows) - 1e-9));
}

}  // namespace scrm
