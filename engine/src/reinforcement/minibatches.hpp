/// Minibatches: the rows of a batch in a random order, some at a time, gathered side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "reinforcement/losses.hpp"
#include "scrm/engine/reinforcement/policy_update.hpp"

namespace scrm {

class Minibatches {
 public:
  /// `episodes` must outlive this.
  Minibatches(const Episodes& episodes, int size);

  /// Begins an epoch, in an order that depends on the key and the epoch's number alone.
  void shuffle(const UpdateKey& key, int epoch);
  /// The next rows, the last ones perhaps fewer; false at the end of the epoch. Views live until the next call.
  bool next(Minibatch& out);
  /// The same with a column of numbers of all rows beside it, and a copy of the rows' own of another that may be
  /// changed.
  bool next(const std::vector<double>& old_log_probability, const std::vector<double>& advantages, bool normalized,
            Minibatch& out);

 private:
  const Episodes& episodes_;
  std::int64_t size_;
  std::int64_t first_ = 0, count_ = 0;
  std::vector<std::int64_t> order_;
  std::vector<double> contexts_, actions_, rewards_, old_log_probability_, advantages_;
};

}  // namespace scrm
