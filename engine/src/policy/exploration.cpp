#include "scrm/engine/policy/exploration.hpp"

#include <algorithm>
#include <cmath>

#include "pass/source/sampled_source.hpp"
#include "policy/score_matrix.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {
namespace {

constexpr double kDecided = 0.99;
// Probabilities that are computed at most: a second of work.
constexpr std::int64_t kProbabilities = std::int64_t{1} << 26;
// Where there are as many blocks, some of them are enough.
constexpr std::int64_t kManyBlocks = 64;
// Rows whose scores are formed together.
constexpr int kRowsTogether = 16;

struct Sums {
  double rows = 0;
  double smallest = 1;
  double decided = 0;
  double inverse = 0;  // Σ over rows and actions of 1 / (K² π), or of 1 / (4 π) over bits, averaged over labels
  std::vector<double> probability;

  void merge(const Sums& later) {
    rows += later.rows;
    smallest = std::min(smallest, later.smallest);
    decided += later.decided;
    inverse += later.inverse;
    if (probability.empty()) probability.resize(later.probability.size());
    for (std::size_t k = 0; k < later.probability.size(); ++k) probability[k] += later.probability[k];
  }
  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, rows);
    scrm::transfer(bytes, smallest);
    scrm::transfer(bytes, decided);
    scrm::transfer(bytes, inverse);
    scrm::transfer(bytes, probability);
  }
};

/// Takes the scores of one row, `stride` apart.
void add_categories(const Policy& policy, const double* scores, int stride, Sums& out) {
  const int actions = policy.outputs;
  double highest = scores[0];
  for (int k = 1; k < actions; ++k) highest = std::max(highest, scores[k * stride]);
  double total = 0;
  for (int k = 0; k < actions; ++k) total += std::exp(scores[k * stride] - highest);
  double largest = 0;
  double inverse = 0;
  for (int k = 0; k < actions; ++k) {
    const double p = (1 - policy.epsilon) * (std::exp(scores[k * stride] - highest) / total) + policy.epsilon / actions;
    out.smallest = std::min(out.smallest, p);
    largest = std::max(largest, p);
    inverse += 1 / p;
    out.probability[static_cast<std::size_t>(k)] += p;
  }
  out.decided += largest > kDecided ? 1 : 0;
  out.inverse += inverse / actions / actions;
  out.rows += 1;
}

void add_bits(const Policy& policy, const double* scores, int stride, Sums& out) {
  const int labels = policy.outputs;
  double decided = 0;
  double inverse = 0;
  for (int k = 0; k < labels; ++k) {
    // Whether ε is mixed in jointly or label by label, a bit by itself has the same probability.
    const double p = (1 - policy.epsilon) / (1 + std::exp(-scores[k * stride])) + policy.epsilon / 2;
    const double q = (1 - policy.epsilon) / (1 + std::exp(scores[k * stride])) + policy.epsilon / 2;
    out.smallest = std::min({out.smallest, p, q});
    decided += std::max(p, q) > kDecided ? 1 : 0;
    inverse += (1 / p + 1 / q) / 4;
    out.probability[static_cast<std::size_t>(k)] += p;
  }
  out.decided += decided / labels;
  out.inverse += inverse / labels;
  out.rows += 1;
}

/// The rows of a block that are looked at: groups of kRowsTogether, evenly spread.
int group_step(const Source& source, int actions) {
  const double rows = static_cast<double>(source.blocks()) * kBlockRows;
  const double wanted = std::max(1.0, static_cast<double>(kProbabilities) / actions);
  const double step = std::clamp(rows / wanted, 1.0, static_cast<double>(kBlockRows / kRowsTogether));
  return static_cast<int>(step) * kRowsTogether;
}

}  // namespace

std::optional<Exploration> measure_exploration(Source& source, const Policy& policy, const PassOptions& pass) {
  const bool bits = policy.kind == PolicyKind::multilabel;
  if (!bits && policy.kind != PolicyKind::softmax) return std::nullopt;
  SampledSource sample(source);
  Source& rows = source.blocks() >= kManyBlocks ? static_cast<Source&>(sample) : source;
  const ScoreMatrix matrix(policy, source.schema());
  const int step = group_step(rows, policy.outputs);
  const auto compute = [&](const Block& block, Sums& out) {
    out = Sums{};
    out.probability.assign(static_cast<std::size_t>(policy.outputs), 0.0);
    const auto scores = make_aligned_for_overwrite<double>(static_cast<std::size_t>(policy.outputs) * kRowsTogether);
    for (int first = 0; first < block.rows; first += step) {
      matrix.scores(block, {first, kRowsTogether, 0, policy.outputs, scores.get(), kRowsTogether});
      for (int i = 0; i < std::min(kRowsTogether, block.rows - first); ++i) {
        (bits ? add_bits : add_categories)(policy, scores.get() + i, kRowsTogether, out);
      }
    }
  };
  const auto merge = [](Sums& a, const Sums& b) { a.merge(b); };
  const Sums sums = run_pass(rows, Sums{}, compute, merge, pass).first;
  if (sums.rows == 0) return std::nullopt;
  Exploration out{sums.rows, sums.smallest, sums.decided / sums.rows, sums.rows / sums.inverse, sums.probability};
  for (double& p : out.mean_probability) p /= sums.rows;
  return out;
}

}  // namespace scrm
