/// FourierSource: rows whose contexts are followed by their random Fourier features.
#pragma once

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/wrapped_source.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/fourier_features.hpp"

namespace scrm {

/// The rows of another source, with contexts (x, z(x)) in doubles: what is linear in them is a policy, or a model, with
/// FeatureMap::fourier. The features lose their names, since those of z have none.
class FourierSource final : public WrappedSource {
 public:
  /// Throws where contexts are sparse or there are none.
  FourierSource(Source& source, const FourierFeatures& map);

  const Schema& schema() const override { return schema_; }
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  Schema schema_;
  FourierTransform transform_;
};

/// The schema of contexts with their features; throws as FourierSource does.
Schema with_fourier_features(Schema schema, const FourierFeatures& map);

/// A map for the rows of a source: centre and spread by their contexts, in one pass. `bandwidth` 0 stands for the root
/// of the number of features, at which the kernel of two typical rows is 1/e.
FourierFeatures standardized_fourier(Source& source, std::int64_t width, double bandwidth, std::uint64_t seed,
                                     const PassOptions& pass, bool skip_bad_rows);

/// A policy with Fourier features as the linear one that it is on rows of FourierSource, and back.
Policy as_linear(Policy policy);
Policy as_fourier(Policy policy, const FourierFeatures& map);

}  // namespace scrm
