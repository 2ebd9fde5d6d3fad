/// Random logged rows of any schema, as plain columns and as a MemorySource, and what policies make of them by the
/// reference formulas, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/shard/schema.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

namespace scrm::testing {

/// Rows in row-major order. `propensity` is in the schema's form: a logarithm unless that is linear.
struct LoggedRows {
  Schema schema;
  std::int64_t rows = 0;
  std::vector<double> context;  ///< zeros where a sparse row has no entry
  std::vector<double> action;
  std::vector<std::int32_t> category;
  std::vector<std::uint8_t> bits;
  std::vector<double> loss, propensity, label_propensity;
  std::vector<std::vector<double>> targets;
  std::vector<std::int64_t> cluster;

  template <class T>
  static T cell(const std::vector<T>& values, std::int64_t row, std::int64_t column, std::int64_t width) {
    return values[static_cast<std::size_t>(row * width + column)];
  }
};

/// Rows that policies of that kind can be learned from: 4 categories, or 3 labels with a propensity each.
inline Schema schema_for(PolicyKind kind, std::int64_t features, bool sparse = false, FloatType type = FloatType::f64) {
  Schema schema;
  schema.features = features;
  schema.sparse = sparse;
  schema.context_type = type;
  if (kind == PolicyKind::softmax) {
    schema.action_kind = ActionKind::categorical;
    schema.num_actions = 4;
  } else if (kind == PolicyKind::multilabel) {
    schema.action_kind = ActionKind::multilabel;
    schema.num_actions = 3;
    schema.label_propensity = true;
    schema.propensity = PropensityForm::logarithm;
  }
  return schema;
}

/// What a schema does not say: sparse contexts have a third of their entries; propensities spread over ±decades powers
/// of ten (continuous actions) or down to 10^-decades (probabilities).
inline LoggedRows random_rows(const Schema& schema, std::int64_t rows, std::uint64_t seed, double decades = 1) {
  std::mt19937_64 random(seed);
  LoggedRows out;
  out.schema = schema;
  out.rows = rows;
  out.targets.resize(schema.targets.size());
  const bool density = schema.action_kind == ActionKind::continuous;
  const auto probability = [&] { return std::pow(10.0, uniform(random, -decades, density ? decades : 0.0)); };
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < schema.features; ++j) {
      const double x = normal(random);
      const double rounded = schema.context_type == FloatType::f32 && !schema.sparse ? static_cast<float>(x) : x;
      out.context.push_back(schema.sparse && random() % 3 != 0 ? 0.0 : rounded);
    }
    switch (schema.action_kind) {
      case ActionKind::continuous:
        out.action.push_back(normal(random) + 1);
        break;
      case ActionKind::categorical:
        out.category.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(schema.num_actions)));
        break;
      case ActionKind::multilabel:
        for (int k = 0; k < schema.num_actions; ++k) out.bits.push_back(static_cast<std::uint8_t>(random() & 1));
        break;
    }
    out.loss.push_back(normal(random) - 0.4);
    double log_product = 0;
    for (int k = 0; schema.label_propensity && k < schema.num_actions; ++k) {
      out.label_propensity.push_back(uniform(random, 0.05, 1));
      log_product += std::log(out.label_propensity.back());
    }
    if (schema.propensity == PropensityForm::label_product) {
      out.propensity.push_back(log_product);
    } else {
      const double p = probability();
      out.propensity.push_back(schema.propensity == PropensityForm::linear ? p : std::log(p));
    }
    for (std::vector<double>& target : out.targets) target.push_back(random() % 8 == 0 ? 0.0 : uniform(random, 0, 1));
    if (schema.cluster) out.cluster.push_back(static_cast<std::int64_t>(random()));
  }
  return out;
}

/// One block's worth of the rows.
inline std::unique_ptr<BlockBuffer> make_buffer(const LoggedRows& from, std::int64_t first, int count) {
  const Schema& schema = from.schema;
  auto buffer = std::make_unique<BlockBuffer>(schema);
  for (int i = 0; i < count; ++i) {
    const std::int64_t row = first + i;
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t j = 0; j < schema.features; ++j) {
      const double x = LoggedRows::cell(from.context, row, j, schema.features);
      if (schema.sparse) {
        if (x == 0) continue;
        buffer->indices().push_back(static_cast<std::int32_t>(j));
        buffer->values().push_back(x);
      } else if (schema.context_type == FloatType::f32) {
        buffer->context_f32()[j * kBlockRows + i] = static_cast<float>(x);
      } else {
        buffer->context_f64()[j * kBlockRows + i] = x;
      }
    }
    if (schema.sparse) buffer->indptr()[i + 1] = static_cast<std::int64_t>(buffer->indices().size());
    if (!from.action.empty()) buffer->action()[i] = from.action[at];
    if (!from.category.empty()) buffer->category()[i] = from.category[at];
    for (int k = 0; k < schema.num_actions; ++k) {
      if (!from.bits.empty()) {
        buffer->bits()[k * kBlockRows + i] = LoggedRows::cell(from.bits, row, k, schema.num_actions);
      }
      if (!from.label_propensity.empty()) {
        buffer->label_propensity()[k * kBlockRows + i] =
            LoggedRows::cell(from.label_propensity, row, k, schema.num_actions);
      }
    }
    buffer->loss()[i] = from.loss[at];
    buffer->propensity()[i] = from.propensity[at];
    for (std::size_t t = 0; t < from.targets.size(); ++t) {
      buffer->target(static_cast<int>(t))[i] = from.targets[t][at];
    }
    if (schema.cluster) buffer->cluster()[i] = from.cluster[at];
  }
  return buffer;
}

inline MemorySource make_source(const LoggedRows& rows) {
  MemorySource source(rows.schema);
  for (std::int64_t first = 0; first < rows.rows; first += kBlockRows) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows.rows - first));
    source.append(make_buffer(rows, first, count), count);
  }
  return source;
}

/// A policy with random parameters that fits the schema.
inline Policy random_policy(PolicyKind kind, const Schema& schema, std::uint64_t seed,
                            FeatureMap map = FeatureMap::linear, double epsilon = 0, Mixing mixing = Mixing::joint) {
  std::mt19937_64 random(seed);
  Policy policy;
  policy.kind = kind;
  policy.features = map;
  policy.epsilon = epsilon;
  policy.mixing = mixing;
  policy.scale = uniform(random, 0.5, 1.5);
  const ThetaRows rows = policy_kind(kind).format.theta;
  policy.outputs = rows == ThetaRows::none ? 0 : (rows == ThetaRows::one ? 1 : schema.num_actions);
  const std::int64_t numbers = policy.outputs * (1 + mapped_features(map, schema.features));
  for (std::int64_t i = 0; i < numbers; ++i) policy.theta.push_back(0.3 * normal(random));
  return policy;
}

/// Scores of one row by the reference formulas.
inline reference::Reals row_scores(const Policy& policy, const LoggedRows& rows, std::int64_t row) {
  reference::Reals x, scores;
  for (std::int64_t j = 0; j < rows.schema.features; ++j) {
    x.push_back(LoggedRows::cell(rows.context, row, j, rows.schema.features));
  }
  for (int k = 0; k < policy.outputs; ++k) {
    scores.push_back(reference::score(policy.theta.data() + k * policy.row_length(), x, policy.features));
  }
  return scores;
}

inline std::vector<bool> row_bits(const LoggedRows& rows, std::int64_t row) {
  std::vector<bool> bits;
  for (int k = 0; k < rows.schema.num_actions; ++k) {
    bits.push_back(LoggedRows::cell(rows.bits, row, k, rows.schema.num_actions) != 0);
  }
  return bits;
}

/// log π(a|x) of one row by the reference formulas.
inline reference::Real log_density(const Policy& policy, const LoggedRows& rows, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  const reference::Reals scores = row_scores(policy, rows, row);
  if (policy.kind == PolicyKind::gaussian)
    return reference::gaussian_log_density(rows.action[at], scores[0], policy.scale);
  if (policy.kind == PolicyKind::lognormal)
    return reference::lognormal_log_density(rows.action[at], scores[0], policy.scale);
  if (policy.kind == PolicyKind::softmax)
    return reference::softmax_log_probability(scores, rows.category[at], policy.epsilon);
  if (policy.kind == PolicyKind::multilabel)
    return reference::multilabel_log_probability(row_bits(rows, row), scores, policy.epsilon, policy.mixing);
  const auto actions = static_cast<reference::Real>(rows.schema.num_actions);
  return rows.schema.action_kind == ActionKind::multilabel ? -actions * std::log(2.0L) : -std::log(actions);
}

inline reference::Real log_propensity(const LoggedRows& rows, std::int64_t row) {
  const reference::Real stored = rows.propensity[static_cast<std::size_t>(row)];
  return rows.schema.propensity == PropensityForm::linear ? std::log(stored) : stored;
}

inline reference::Reals policy_weights(const Policy& policy, const LoggedRows& rows) {
  reference::Reals out;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    out.push_back(std::exp(log_density(policy, rows, i) - log_propensity(rows, i)));
  }
  return out;
}

inline reference::Reals target_weights(std::size_t target, const LoggedRows& rows) {
  reference::Reals out;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    out.push_back(rows.targets[target][static_cast<std::size_t>(i)] / std::exp(log_propensity(rows, i)));
  }
  return out;
}

/// S = Σ_k (w_k − 1) of every row, w_k = π_k / (p_k + α π_k).
inline reference::Reals label_excess(const Policy& policy, const LoggedRows& rows, reference::Real alpha) {
  reference::Reals out;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const reference::Reals scores = row_scores(policy, rows, i);
    const std::vector<bool> bits = row_bits(rows, i);
    reference::Real excess = 0;
    for (int k = 0; k < rows.schema.num_actions; ++k) {
      const auto label = static_cast<std::size_t>(k);
      const reference::Real pi = policy.kind == PolicyKind::uniform
                                     ? 0.5L
                                     : reference::label_probability(bits[label], scores[label], policy.epsilon);
      const reference::Real p = LoggedRows::cell(rows.label_propensity, i, k, rows.schema.num_actions);
      excess += pi / (p + alpha * pi) - 1;
    }
    out.push_back(excess);
  }
  return out;
}

inline reference::Reals losses(const LoggedRows& rows) {
  return {rows.loss.begin(), rows.loss.end()};
}

}  // namespace scrm::testing
