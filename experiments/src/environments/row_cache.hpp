/// RowCache: the first rows of an environment, kept for runs that meet them again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "scrm/experiments/environment.hpp"

namespace scrm {

/// The same draws as the environment's. Rows [0, rows) of rollout 0 under `seed` are drawn once, by whoever asks first,
/// and copied from then on; all others are drawn anew.
class RowCache {
 public:
  RowCache(std::shared_ptr<const Environment> environment, std::uint64_t seed, std::int64_t rows);

  void draw(const EnvironmentRows& rows) const noexcept;
  void action_normals(const EnvironmentRows& rows, double* out) const noexcept;

 private:
  /// kBlockRows rows: context columns, then state columns, then the normal draws of continuous actions.
  struct Chunk {
    std::once_flag drawn;
    std::vector<double> columns;
  };

  bool is_cached(const EnvironmentRows& rows) const noexcept;
  const double* chunk(std::int64_t index) const;

  std::shared_ptr<const Environment> environment_;
  std::int64_t features_;
  std::int64_t states_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace scrm
