/// OutcomeCoefficients: a model's predictions as policies are learned with them.
#pragma once

namespace scrm {

/// Columns of a model whose predictions are linear in what an action counts for, kBlockRows numbers each: q(x, k) of
/// every categorical action k; q₀ and q_k of q₀(x) + Σ_k ±q_k(x), + where bit k is set; or q₀, q₁ and q₂ of
/// q₀(x) + q₁(x) u + q₂(x) u², u = (a − centre) / scale.
struct OutcomeCoefficients {
  const double* columns = nullptr;
  double centre = 0, scale = 1;  ///< continuous actions
};

}  // namespace scrm
