/// What the paper reports: Zenati, Diemert, Martin, Mairal and Gaillard, "Sequential Counterfactual Risk Minimization",
/// ICML 2023. Numbers alone; nothing here is computed.
#pragma once

#include <optional>
#include <string>

namespace scrm {

/// Mean and standard deviation over ten seeds.
struct PaperResult {
  double mean = 0, sd = 0;
};

inline constexpr double kPaperSeeds = 10;

/// Table 3: test loss after ten rollouts. Empty where the paper has no number ("did not finish", or no such method).
std::optional<PaperResult> paper_loss(const std::string& environment, const std::string& method);

/// Whether the paper's run of this method did not finish there.
bool paper_did_not_finish(const std::string& environment, const std::string& method);

/// Table 2: SCRM with λ chosen a posteriori, or by the heuristic `auto`.
std::optional<PaperResult> paper_lambda(const std::string& environment, bool automatic);

/// Table 1: k where 100·2^k rows are needed for a mean loss of p·L(θ*), p = 0.7, 0.8 or 0.9.
struct PaperRows {
  int power = 0;
  bool more = false;  ///< more than that
};
std::optional<PaperRows> paper_rows(const std::string& method, double share);

}  // namespace scrm
