/// Policy: the parameters of a stochastic decision rule π(a|x), as a policy file states them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// The name of a kind of policy, as policy files spell it. What each kind does stands in scrm/engine/policy_kind.hpp.
class PolicyKind {
 public:
  /// `name` must outlive all policies of the kind: a string literal.
  constexpr explicit PolicyKind(std::string_view name) noexcept : name_(name) {}

  constexpr std::string_view name() const noexcept { return name_; }
  friend constexpr bool operator==(PolicyKind, PolicyKind) noexcept = default;

  // Built-in kinds that code asks for by name.
  static const PolicyKind gaussian, lognormal, softmax, multilabel, uniform;

 private:
  std::string_view name_;
};

inline constexpr PolicyKind PolicyKind::gaussian{"gaussian"};
inline constexpr PolicyKind PolicyKind::lognormal{"lognormal"};
inline constexpr PolicyKind PolicyKind::softmax{"softmax"};
inline constexpr PolicyKind PolicyKind::multilabel{"multilabel"};
inline constexpr PolicyKind PolicyKind::uniform{"uniform"};

enum class FeatureMap : std::uint8_t { linear, quadratic, fourier };

/// Random Fourier features z(x) of a policy with FeatureMap::fourier, by what they are made from; what they are stands
/// in scrm/kernels/scores/fourier_features.hpp.
struct FourierFeatures {
  std::int64_t width = 0;                  ///< how many: D
  double bandwidth = 1;                    ///< of the gaussian kernel that they approximate, in spreads
  std::uint64_t seed = 0;                  ///< of frequencies and phases
  std::vector<double> centre = {};         ///< of each input, subtracted from it; empty: 0
  std::vector<double> spread = {};         ///< of each input, which is divided by it; empty: 1
  std::vector<std::int64_t> columns = {};  ///< of the data, where the inputs stand; empty: in their order
};

/// How ε is mixed into a multilabel policy: `joint` (1−ε)π + ε/2^K, or per label (1−ε)p_k + ε/2.
enum class Mixing : std::uint8_t { joint, label };

/// A shard that a policy was learned from.
struct TrainingShard {
  std::int64_t rows = 0;
  std::uint64_t begins = 0;  ///< a fingerprint of its first rows

  bool operator==(const TrainingShard&) const = default;
};

/// Which rows a policy was learned from, so that it can be judged on others.
struct Training {
  std::int64_t rows = 0;     ///< of the data, the held-out ones among them
  double holdout = 0;        ///< share of rows that learning did not see
  std::uint64_t seed = 0;    ///< which of them
  std::uint64_t begins = 0;  ///< a fingerprint of the data's first rows
  bool by_cluster = false;   ///< whole clusters were held out, rather than rows
  /// A fingerprint of rows from all over the data, which notices files in another order; older policies have none.
  std::optional<std::uint64_t> sample = {};
  /// All shards, so that each is known again by itself, in whatever company; older policies have none.
  std::vector<TrainingShard> shards = {};
};

/// A kind and its parameters. Scores are θ₀ + θ·φ(x), φ the feature map, one for each row of theta; what they, scale, ε
/// and mixing mean is the kind's matter.
struct Policy {
  PolicyKind kind = PolicyKind::gaussian;
  FeatureMap features = FeatureMap::linear;
  Mixing mixing = Mixing::joint;
  double scale = 1.0;
  double epsilon = 0.0;
  int outputs = 1;                        ///< rows of theta: one, one for each action or label, or none
  std::vector<double> theta;              ///< outputs rows of 1 + width(φ) numbers, intercept first
  std::vector<std::string> inputs = {};   ///< names of the features, in order; empty: not named
  std::vector<std::string> actions = {};  ///< names of the actions or labels, in order; empty: not named
  std::optional<Training> training = {};  ///< of a policy that was learned
  FourierFeatures fourier = {};           ///< of FeatureMap::fourier

  /// Length of one row of theta.
  std::int64_t row_length() const noexcept {
    return outputs > 0 ? static_cast<std::int64_t>(theta.size()) / outputs : 0;
  }
};

/// Width of φ(x) without the intercept: d, d + d(d+1)/2 for quadratic, where the products x_j x_k, j ≤ k, follow the
/// features in the order (0,0), (0,1), …, (1,1), …, or d + D for fourier, where z(x) of width D follows them.
constexpr std::int64_t mapped_features(FeatureMap map, std::int64_t features, std::int64_t fourier_width = 0) noexcept {
  if (map == FeatureMap::quadratic) return features + features * (features + 1) / 2;
  return map == FeatureMap::linear ? features : features + fourier_width;
}

inline std::int64_t mapped_features(const Policy& policy, std::int64_t features) noexcept {
  return mapped_features(policy.features, features, policy.fourier.width);
}

/// Position of x_j x_k, j ≤ k, among the products.
constexpr std::int64_t quadratic_index(std::int64_t j, std::int64_t k, std::int64_t features) noexcept {
  return j * features - j * (j - 1) / 2 + (k - j);
}

}  // namespace scrm
