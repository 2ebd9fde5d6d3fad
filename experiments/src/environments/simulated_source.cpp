#include "scrm/experiments/simulated_source.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "environments/record_actions.hpp"
#include "environments/row_cache.hpp"

namespace scrm {

namespace {

double as_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Appends the entries of one row that mean nothing. Gaps between them are geometric, so that the work goes with the
/// entries and not with the features.
void append_noise(RandomStream random, std::int64_t first, const SimulateOptions& options,
                  std::vector<std::int32_t>& indices, std::vector<double>& values) {
  if (options.density <= 0) return;
  const double log_absent = std::log1p(-options.density);  // -inf at density 1: every gap is then zero
  double at = -1;
  while (true) {
    at += 1 + std::floor(std::log(random.uniform()) / log_absent);
    if (!(at < static_cast<double>(options.sparse_features))) return;
    const double value = random.normal();
    indices.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(at)));
    values.push_back(options.float32 ? as_float(value) : value);
  }
}

}  // namespace

Schema simulated_schema(const Environment& environment, const SimulateOptions& options) {
  Schema schema;
  schema.action_kind = environment.action_kind();
  schema.num_actions = environment.num_actions();
  schema.features = environment.features() + options.sparse_features;
  schema.sparse = options.sparse_features > 0;
  schema.context_type = options.float32 ? FloatType::f32 : FloatType::f64;
  if (schema.action_kind == ActionKind::multilabel) {
    schema.propensity = PropensityForm::logarithm;
    schema.label_propensity = options.label_propensity;
  }
  return schema;
}

Policy first_policy(const Environment& environment, const SimulateOptions& options) {
  Policy policy = environment.first_policy();
  const auto old_length = static_cast<std::size_t>(policy.row_length());
  std::vector<double> theta;
  for (std::size_t begin = 0; begin < policy.theta.size(); begin += old_length) {
    const auto row = policy.theta.begin() + static_cast<std::ptrdiff_t>(begin);
    theta.insert(theta.end(), row, row + static_cast<std::ptrdiff_t>(old_length));
    theta.insert(theta.end(), static_cast<std::size_t>(options.sparse_features), 0.0);
  }
  policy.theta = std::move(theta);
  return policy;
}

struct SimulatedSource::Loader final : BlockLoader {
  Loader(const Schema& schema, const Environment& environment, std::int64_t score_columns)
      : buffer(schema), features(environment.features()), states(environment.state_columns()), scored(score_columns) {}

  double* column(std::int64_t index, std::int64_t count) { return memory.columns(0, count) + index * kBlockRows; }
  std::int64_t all() const { return features + states + scored + 2; }
  double* context() { return column(0, all()); }
  double* state() { return column(features, all()); }
  double* log_density() { return column(features + states, all()); }
  double* normals() { return column(features + states + 1, all()); }
  double* scores() { return column(features + states + 2, all()); }

  BlockBuffer buffer;
  std::optional<BlockBuffer> merged;  // of blocks that two policies share
  std::int64_t features;
  std::int64_t states;
  std::int64_t scored;
  PolicyScratch memory;  // the environment's own columns
  PolicyScratch policy;  // the policy's
};

SimulatedSource::SimulatedSource(std::shared_ptr<const Environment> environment, const Policy& policy,
                                 const std::string& policy_name, const SimulateOptions& options)
    : SimulatedSource(std::move(environment), std::vector<PolicySegment>{{policy, options.rows}}, policy_name,
                      options) {}

SimulatedSource::SimulatedSource(std::shared_ptr<const Environment> environment,
                                 const std::vector<PolicySegment>& segments, const std::string& policy_name,
                                 const SimulateOptions& options)
    : environment_(std::move(environment)),
      policy_name_(policy_name),
      options_(options),
      schema_(simulated_schema(*environment_, options)) {
  std::int64_t end = 0;
  for (const PolicySegment& segment : segments) {
    end += segment.rows;
    segments_.push_back({segment.policy, make_target_policy(segment.policy, schema_, policy_name), end});
  }
  // Bits that share one draw of "explore" are not independent, and probabilities of single ones would mislead.
  for (const PreparedSegment& segment : segments_) {
    if (segment.policy.mixing == Mixing::joint && segment.policy.epsilon > 0) schema_.label_propensity = false;
  }
}

std::int64_t SimulatedSource::score_columns() const {
  std::int64_t columns = 0;
  for (const PreparedSegment& segment : segments_) columns = std::max(columns, sampling_columns(segment.policy));
  return columns;
}

std::size_t SimulatedSource::loader_bytes() const {
  std::size_t scratch = 0;
  for (const PreparedSegment& segment : segments_) scratch = std::max(scratch, segment.target->scratch_bytes());
  const auto columns =
      static_cast<std::size_t>(environment_->features() + environment_->state_columns() + score_columns() + 2);
  const double entries = kBlockRows * (static_cast<double>(environment_->features()) +
                                       static_cast<double>(options_.sparse_features) * options_.density);
  // Vectors grow by doubling: up to twice the 12 bytes of an entry are held.
  const std::size_t sparse = schema_.sparse ? static_cast<std::size_t>(24 * entries) : 0;
  return block_buffer_bytes(schema_) + columns * kBlockRows * sizeof(double) + sparse + scratch;
}

std::unique_ptr<BlockLoader> SimulatedSource::make_loader() const {
  return std::make_unique<Loader>(schema_, *environment_, score_columns());
}

std::unique_ptr<BlockGroup> SimulatedSource::fetch(std::int64_t, int) {
  return std::make_unique<BlockGroup>();
}

void SimulatedSource::fill_context(const EnvironmentRows& rows, BlockBuffer& buffer) const {
  const std::int64_t features = environment_->features();
  if (options_.float32) {
    for (std::int64_t j = 0; j < features; ++j) {
      double* column = rows.context + j * kBlockRows;
      std::transform(column, column + rows.rows, column, as_float);
    }
  }
  if (schema_.sparse) {
    auto& indices = buffer.indices();
    auto& values = buffer.values();
    indices.clear();
    values.clear();
    for (int i = 0; i < rows.rows; ++i) {
      for (std::int64_t j = 0; j < features; ++j) {
        indices.push_back(static_cast<std::int32_t>(j));
        values.push_back(rows.context[j * kBlockRows + i]);
      }
      append_noise(row_stream(rows.rollout_key, StreamPurpose::sparse_context, rows.first_row + i), features, options_,
                   indices, values);
      buffer.indptr()[i + 1] = static_cast<std::int64_t>(values.size());
    }
    return;
  }
  for (std::int64_t j = 0; j < features; ++j) {
    const double* column = rows.context + j * kBlockRows;
    if (options_.float32) {
      std::transform(column, column + rows.rows, buffer.context_f32() + j * kBlockRows,
                     [](double value) { return static_cast<float>(value); });
    } else {
      std::copy_n(column, rows.rows, buffer.context_f64() + j * kBlockRows);
    }
  }
}

void SimulatedSource::act(const PreparedSegment& segment, const Block& block, Loader& loader) const {
  record_actions({segment.policy, *segment.target, options_.rollout_key, options_.float32, loader.normals()}, block,
                 {loader.policy, loader.scores(), loader.log_density()}, loader.buffer);
}

Block SimulatedSource::load(BlockGroup&, std::int64_t index, BlockLoader& loader, Audit&) const {
  auto& own = static_cast<Loader&>(loader);
  const std::int64_t begin = index * kBlockRows;
  const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, options_.rows - begin));
  const EnvironmentRows drawn{options_.rollout_key, options_.first_row + begin, rows, own.context(), own.state()};
  const bool continuous = environment_->action_kind() == ActionKind::continuous;
  if (options_.cache) {
    options_.cache->draw(drawn);
    if (continuous) options_.cache->action_normals(drawn, own.normals());
  } else {
    environment_->draw(drawn);
    if (continuous) environment_->action_normals(drawn, own.normals());
  }
  fill_context(drawn, own.buffer);

  // Draws are keyed by the row of the deployment, results by the row of this source.
  BlockBuffer* filled = &own.buffer;
  const Block acting = own.buffer.view(drawn.first_row, rows);
  const auto first =
      std::upper_bound(segments_.begin(), segments_.end(), begin,
                       [](std::int64_t row, const PreparedSegment& segment) { return row < segment.end; });
  act(*first, acting, own);
  if (first->end < begin + rows) {
    // Policies take turns within the block: each acts on all of it, and its own rows are kept.
    if (!own.merged) own.merged.emplace(schema_);
    filled = &*own.merged;
    int done = 0;
    for (auto segment = first; done < rows; ++segment) {
      if (segment != first) act(*segment, acting, own);
      const int end = static_cast<int>(std::min<std::int64_t>(rows, segment->end - begin));
      filled->copy_rows(acting, done, end - done, done);
      done = end;
    }
  }
  const Block block = filled->view(begin, rows);
  environment_->losses(drawn, block, filled->loss());
  require_loggable(block, policy_name_);
  return block;
}

}  // namespace scrm
