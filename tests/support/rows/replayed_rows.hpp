/// Random logged rows that share contexts, spelled out and with each context held once, for tests.
#pragma once

#include <algorithm>
#include <memory>

#include "support/rows/random_rows.hpp"

namespace scrm::testing {

/// Random rows of which every `replays` consecutive ones have the same context.
inline LoggedRows replayed_rows(const Schema& schema, std::int64_t rows, int replays, std::uint64_t seed) {
  LoggedRows out = random_rows(schema, rows, seed);
  const auto width = static_cast<std::size_t>(schema.features);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const std::size_t first = i - i % static_cast<std::size_t>(replays);
    std::copy_n(out.context.data() + first * width, width, out.context.data() + i * width);
  }
  return out;
}

/// Rows [begin, end) of these with each context held once.
inline MemorySource shared_source(const LoggedRows& rows, int replays, std::int64_t begin, std::int64_t end) {
  Schema schema = rows.schema;
  schema.replays = replays;
  MemorySource source(schema);
  // All columns but the context lie as in a block without replays.
  LoggedRows without = rows;
  without.schema.features = 0;
  without.schema.sparse = false;
  for (std::int64_t first = begin; first < end; first += kBlockRows) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, end - first));
    auto buffer = std::make_unique<BlockBuffer>(schema);
    const auto plain = make_buffer(without, first, count);
    const Block from = plain->view(first, count);
    std::copy_n(from.loss, kBlockRows, buffer->loss());
    std::copy_n(from.log_propensity != nullptr ? from.log_propensity : from.propensity, kBlockRows,
                buffer->propensity());
    if (from.action != nullptr) std::copy_n(from.action, kBlockRows, buffer->action());
    if (from.bits != nullptr) std::copy_n(from.bits, schema.num_actions * kBlockRows, buffer->bits());
    if (from.category != nullptr) std::copy_n(from.category, kBlockRows, buffer->category());
    if (from.label_propensity != nullptr) {
      std::copy_n(from.label_propensity, schema.num_actions * kBlockRows, buffer->label_propensity());
    }
    for (int t = 0; t < from.num_targets; ++t) std::copy_n(from.targets[t], kBlockRows, buffer->target(t));
    if (from.cluster != nullptr) std::copy_n(from.cluster, kBlockRows, buffer->cluster());
    for (int c = 0; c < count / replays; ++c) {
      for (std::int64_t j = 0; j < schema.features; ++j) {
        const double x = LoggedRows::cell(rows.context, first + c * replays, j, schema.features);
        if (!schema.sparse && schema.context_type == FloatType::f32) {
          buffer->context_f32()[j * buffer->context_stride() + c] = static_cast<float>(x);
        } else if (!schema.sparse) {
          buffer->context_f64()[j * buffer->context_stride() + c] = x;
        } else if (x != 0) {
          buffer->indices().push_back(static_cast<std::int32_t>(j));
          buffer->values().push_back(x);
        }
      }
      if (schema.sparse) buffer->indptr()[c + 1] = static_cast<std::int64_t>(buffer->indices().size());
    }
    source.append(std::move(buffer), count);
  }
  return source;
}

inline MemorySource shared_source(const LoggedRows& rows, int replays) {
  return shared_source(rows, replays, 0, rows.rows);
}

}  // namespace scrm::testing
