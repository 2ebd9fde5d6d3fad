/// PassPlan: how many threads a pass uses and how many groups are in flight, so that all it holds fits its budget.
#pragma once

#include <cstddef>

#include "scrm/engine/pass/pass.hpp"

namespace scrm {

/// What a reduction holds at most, where that grows with policies, actions or features.
struct ReductionBytes {
  std::size_t fixed = 0;    ///< once
  std::size_t partial = 0;  ///< each partial
  std::size_t scratch = 0;  ///< each thread that computes
  std::size_t waiting = 0;  ///< each block whose turn in visit_in_order has not come
  const char* help = "";    ///< an option that makes it smaller
};

/// A reduction that says what it holds. Others hold a few numbers.
class SizedReduction : public Reduction {
 public:
  virtual ReductionBytes bytes() const = 0;
};

struct PassPlan {
  int threads = 1;
  int groups_in_flight = 1;
  bool ranked = false;  ///< partials of other ranks come as messages
};

/// Bytes that a pass holds at most under a plan.
std::size_t pass_bytes(const Source& source, const ReductionBytes& reduction, const PassPlan& plan);

/// As many threads and groups as fit; throws an Error of kind memory when not even one of each does.
PassPlan plan_pass(const Source& source, const ReductionBytes& reduction, const PassOptions& options);

/// Whether the pass fits with all of its threads.
bool fits_all_threads(const Source& source, const ReductionBytes& reduction, const PassOptions& options);

}  // namespace scrm
