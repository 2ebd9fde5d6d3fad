/// Small made-up labelled data, and what the problems made of it log, as plain vectors, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "environments/problem/problem_factories.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/io/labelled/labelled_data.hpp"
#include "support/rows/columns.hpp"

namespace scrm_test {

/// The first feature is different in every row and tells which one it is; labels follow the others, with noise.
inline scrm::LabelledData made_up_data(std::int64_t rows, std::int64_t features, int labels, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  scrm::LabelledData data;
  data.name = "made up";
  data.rows = rows;
  data.features = features;
  data.labels = labels;
  for (std::int64_t i = 0; i < rows; ++i) {
    double score = 0;
    for (std::int64_t j = 0; j < features; ++j) {
      const double x = j == 0 ? 0.01 * static_cast<double>(i + 1) : scrm::testing::normal(random);
      data.context.push_back(j > 0 && random() % 3 == 0 ? 0.0 : x);
      if (j > 0) score += data.context.back();
    }
    for (int k = 0; k < labels; ++k) {
      data.label.push_back(score + scrm::testing::normal(random) > 0.3 * (k - 1) ? 1 : 0);
    }
  }
  return data;
}

inline scrm::RunOptions few_rollouts(int rollouts) {
  scrm::RunOptions options;
  options.rollouts = rollouts;
  return options;
}

inline scrm::LabelledData as_sparse(const scrm::LabelledData& dense) {
  scrm::LabelledData data = dense;
  data.sparse = true;
  data.context.clear();
  data.indptr = {0};
  for (std::int64_t i = 0; i < dense.rows; ++i) {
    for (std::int64_t j = 0; j < dense.features; ++j) {
      const double x = dense.context[static_cast<std::size_t>(i * dense.features + j)];
      if (x == 0) continue;
      data.indices.push_back(static_cast<std::int32_t>(j));
      data.values.push_back(x);
    }
    data.indptr.push_back(static_cast<std::int64_t>(data.values.size()));
  }
  return data;
}

inline std::shared_ptr<const scrm::BanditProblem> labelled_problem(const scrm::LabelledData& data, std::uint64_t seed,
                                                                   const scrm::RunOptions& options,
                                                                   const scrm::LabelledTraits& traits = {}) {
  const auto factory = scrm::make_labelled_factory(std::make_shared<const scrm::LabelledData>(data), traits);
  return factory.make(seed, options);
}

/// A policy for this problem with parameters drawn from a seed.
inline scrm::Policy some_policy(const scrm::BanditProblem& problem, std::uint64_t seed, double size = 0.5) {
  std::mt19937_64 random(seed);
  scrm::Policy policy = problem.start();
  for (double& theta : policy.theta) theta = size * scrm::testing::normal(random);
  return policy;
}

/// One logged row; contexts are dense whatever the source holds.
struct LabelledRow {
  std::vector<double> context;
  std::vector<int> bits;
  double loss = 0, log_propensity = 0;
  std::vector<double> label_propensity;
  double weight = 0;  ///< under the policy that is asked about

  bool operator==(const LabelledRow&) const = default;
};

inline std::vector<double> context_of(const scrm::Block& block, int context) {
  std::vector<double> x(static_cast<std::size_t>(block.features), 0.0);
  if (block.sparse.indptr != nullptr) {
    for (std::int64_t e = block.sparse.indptr[context]; e < block.sparse.indptr[context + 1]; ++e) {
      x[static_cast<std::size_t>(block.sparse.indices[e])] = block.sparse.values[e];
    }
    return x;
  }
  const std::int64_t stride = scrm::context_stride(block.replays);
  for (std::int64_t j = 0; j < block.features; ++j) {
    x[static_cast<std::size_t>(j)] = static_cast<const double*>(block.context)[j * stride + context];
  }
  return x;
}

inline std::vector<LabelledRow> logged(scrm::Source& source, const scrm::Policy& policy) {
  std::vector<LabelledRow> rows;
  const auto loader = source.make_loader();
  const auto target = scrm::make_target_policy(policy, source.schema(), "policy");
  scrm::PolicyScratch scratch, output;
  scrm::Audit audit;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    const scrm::Block block = source.load(*group, b, *loader, audit);
    double* weights = output.columns(0, 1);
    target->weights(block, scratch, weights);
    for (int i = 0; i < block.rows; ++i) {
      LabelledRow row;
      row.context = context_of(block, i / block.replays);
      row.loss = block.loss[i];
      row.log_propensity = block.log_propensity[i];
      row.weight = weights[i];
      for (int k = 0; k < block.num_actions; ++k) {
        row.bits.push_back(block.bits[k * scrm::kBlockRows + i]);
        if (block.label_propensity != nullptr) {
          row.label_propensity.push_back(block.label_propensity[k * scrm::kBlockRows + i]);
        }
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

inline std::vector<LabelledRow> logged(const scrm::BanditProblem& problem, const scrm::LoggingPolicy& logging_policy,
                                       int batch) {
  const auto source = problem.batch(logging_policy, batch);
  return logged(*source, logging_policy.policy);
}

/// Which row of the data a context is, by its first feature.
inline std::size_t row_of(const std::vector<double>& context) {
  return static_cast<std::size_t>(std::lround(context[0] * 100)) - 1;
}

inline bool label_of(const scrm::LabelledData& data, std::size_t row, int k) {
  return data.label[row * static_cast<std::size_t>(data.labels) + static_cast<std::size_t>(k)] != 0;
}

inline long double score_of(const scrm::Policy& policy, const double* x, int k) {
  const double* theta = policy.theta.data() + k * policy.row_length();
  long double score = theta[0];
  for (std::int64_t j = 1; j < policy.row_length(); ++j) score += static_cast<long double>(theta[j]) * x[j - 1];
  return score;
}

inline long double logistic(long double score) {
  return 1 / (1 + std::exp(-score));
}

/// Rows of the data that no batch shows: those kept for the test.
inline std::vector<std::size_t> rows_kept(const scrm::BanditProblem& problem, const scrm::LabelledData& data,
                                          int rollouts) {
  std::vector<bool> met(static_cast<std::size_t>(data.rows), false);
  for (int b = 0; b < rollouts; ++b) {
    for (const LabelledRow& row : logged(problem, {problem.start(), false}, b)) met[row_of(row.context)] = true;
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (!met[i]) kept.push_back(i);
  }
  return kept;
}

/// Expected share of wrong bits of a policy on these rows, each bit mixed with a fair coin.
inline long double expected_loss(const scrm::LabelledData& data, const std::vector<std::size_t>& rows,
                                 const scrm::Policy& policy, long double epsilon) {
  long double wrong = 0;
  for (const std::size_t row : rows) {
    for (int k = 0; k < data.labels; ++k) {
      const long double score =
          score_of(policy, data.context.data() + row * static_cast<std::size_t>(data.features), k);
      const long double one = (1 - epsilon) * logistic(score) + epsilon / 2;
      wrong += label_of(data, row, k) ? 1 - one : one;
    }
  }
  return wrong / static_cast<long double>(rows.size()) / data.labels;
}

/// As made_up_data, with one of K classes a row that the second feature tells, with noise.
inline scrm::LabelledData made_up_classes(std::int64_t rows, int classes, double noise = 0.2) {
  scrm::LabelledData data = made_up_data(rows, 3, 1);
  std::mt19937_64 random(9);
  data.multiclass = true;
  data.labels = classes;
  data.label.clear();
  for (std::int64_t i = 0; i < rows; ++i) {
    const double x = data.context[static_cast<std::size_t>(3 * i + 1)] + noise * scrm::testing::normal(random);
    data.category.push_back(std::clamp(static_cast<int>((x + 1.5) / 3 * classes), 0, classes - 1));
  }
  return data;
}

}  // namespace scrm_test
