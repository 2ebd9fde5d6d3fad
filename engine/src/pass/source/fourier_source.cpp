#include "scrm/engine/pass/fourier_source.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scrm/engine/pass/summary.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {
namespace {

class FourierLoader final : public BlockLoader {
 public:
  FourierLoader(std::unique_ptr<BlockLoader> loader, std::int64_t cells)
      : inner(std::move(loader)), context(make_aligned<double>(static_cast<std::size_t>(cells))) {}

  std::unique_ptr<BlockLoader> inner;
  AlignedArray<double> context;
};

std::int64_t context_cells(const Schema& schema) {
  return schema.features * context_stride(schema.replays);
}

template <class Number>
void widen_columns(const ContextMatrix& x, double* out) {
  const auto* from = static_cast<const Number*>(x.data);
  for (std::int64_t j = 0; j < x.features; ++j) {
    for (int i = 0; i < x.rows; ++i) out[j * x.stride + i] = static_cast<double>(from[j * x.stride + i]);
  }
}

}  // namespace

Schema with_fourier_features(Schema schema, const FourierFeatures& map) {
  if (schema.sparse) {
    throw Error(ErrorKind::usage, "fourier features need dense contexts, and these are sparse; use linear features");
  }
  if (schema.replays > 1)
    throw Error(ErrorKind::usage,
                "fourier features cannot be added to rows that share contexts: make them before the rows are replayed");
  if (schema.features == 0) throw Error(ErrorKind::usage, "fourier features need a context, and the data has none");
  schema.features += map.width;
  schema.context_type = FloatType::f64;
  schema.context_columns.clear();
  return schema;
}

FourierSource::FourierSource(Source& source, const FourierFeatures& map)
    : WrappedSource(source),
      schema_(with_fourier_features(source.schema(), map)),
      transform_(map, source.schema().features) {}

std::size_t FourierSource::loader_bytes() const {
  return source_.loader_bytes() + static_cast<std::size_t>(context_cells(schema_)) * sizeof(double);
}

std::unique_ptr<BlockLoader> FourierSource::make_loader() const {
  return std::make_unique<FourierLoader>(source_.make_loader(), context_cells(schema_));
}

Block FourierSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& own = static_cast<FourierLoader&>(loader);
  Block block = source_.load(group, index, *own.inner, audit);
  const ContextMatrix x = context_matrix(block);
  if (x.type == FloatType::f32) {
    widen_columns<float>(x, own.context.get());
  } else {
    widen_columns<double>(x, own.context.get());
  }
  transform_.apply(x, 0, transform_.width(), own.context.get() + x.features * x.stride, x.stride);
  block.features = schema_.features;
  block.context_type = FloatType::f64;
  block.context = own.context.get();
  return block;
}

FourierFeatures standardized_fourier(Source& source, std::int64_t width, double bandwidth, std::uint64_t seed,
                                     const PassOptions& pass, bool skip_bad_rows) {
  const Schema& schema = source.schema();
  FourierFeatures map{.width = width, .bandwidth = bandwidth, .seed = seed};
  (void)with_fourier_features(schema, map);  // throws where there is no such map
  if (map.bandwidth == 0) map.bandwidth = std::sqrt(static_cast<double>(schema.features));
  const auto [summary, audit] = summarize(source, pass);
  if (!skip_bad_rows) require_no_bad_rows(audit);
  for (const Moments& feature : summary.features) {
    map.centre.push_back(feature.count > 0 ? feature.mean : 0.0);
    // A spread of nothing but rounding is none: the feature keeps its unit.
    const double spread = sample_sd(feature);
    map.spread.push_back(spread > 1e-12 * std::abs(feature.mean) ? spread : 1.0);
  }
  return map;
}

Policy as_linear(Policy policy) {
  policy.features = FeatureMap::linear;
  policy.fourier = {};
  policy.inputs.clear();
  return policy;
}

Policy as_fourier(Policy policy, const FourierFeatures& map) {
  policy.features = FeatureMap::fourier;
  policy.fourier = map;
  return policy;
}

}  // namespace scrm
