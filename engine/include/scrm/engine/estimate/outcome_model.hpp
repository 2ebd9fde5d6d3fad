/// OutcomeModel: what losses are expected of actions, for the estimators that a model assists.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "scrm/engine/policy/outcome_coefficients.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

/// q(x, a) of logged and of other actions, as losses. Estimates are unbiased whatever q is, as long as no row's
/// prediction was fitted on the row itself. Immutable: one object serves all threads, each with its own scratch.
/// Results are columns of kBlockRows; entries past block.rows mean nothing.
class OutcomeModel {
 public:
  virtual ~OutcomeModel() = default;

  /// As reports call it.
  virtual std::string name() const = 0;
  /// How strongly it was shrunk, where it was.
  virtual std::optional<double> penalty() const { return {}; }
  /// Why it has no expectation over this policy's actions; empty where it has.
  virtual std::string inapplicable_reason(const TargetPolicy& policy) const = 0;
  /// Whether it is linear in the bits of multilabel actions.
  virtual bool is_linear_in_labels() const { return false; }
  /// q(x, a) of the logged actions.
  virtual void logged(const Block& block, PolicyScratch& scratch, double* out) const = 0;
  /// Σ_a π(a|x) q(x, a), or its integral.
  virtual void expectation(const Block& block, const TargetPolicy& policy, PolicyScratch& scratch,
                           double* out) const = 0;
  /// How many columns of OutcomeCoefficients it has; 0: none, and no policy can be learned with it.
  virtual int coefficient_columns() const { return 0; }
  /// Fills these columns, `out`.
  virtual OutcomeCoefficients coefficients(const Block&, PolicyScratch&, double* out) const { return {.columns = out}; }
  /// Whether it takes blocks whose context lies row by row (Block::context_by_row).
  virtual bool reads_context_by_row() const { return false; }
  /// Bytes of scratch that a thread needs for this policy.
  virtual std::size_t scratch_bytes(const TargetPolicy&) const { return 0; }
};

/// The outside model whose predictions are columns of the data; the schema has one.
std::unique_ptr<OutcomeModel> make_column_model(const Schema& schema);

}  // namespace scrm
