/// run_pass: the one loop of the engine. Blocks in, sums out, the same bits at any thread count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/ranks/byte_stream.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/io/shard/audit.hpp"

namespace scrm {

class Ranks;

/// Called from time to time during a pass with the rows done and the rows in all, never from two threads at once.
using Progress = std::function<void(std::int64_t rows_done, std::int64_t rows_total)>;

struct PassOptions {
  int threads = 0;         ///< 0: all cores
  std::size_t memory = 0;  ///< bytes the pass may hold for blocks in flight; 0: no limit
  Progress progress;
  Ranks* ranks = nullptr;  ///< that share the rows, where all of them run the same passes; null: this process has all
  StopToken stop = {};     ///< once it is requested, the pass ends with StopRequested before the next block
};

/// What a pass adds up. Partials of single blocks are merged in a fixed tree: neighbours first, then neighbouring
/// pairs, and so on by block index. `merge` need not be associative to the bit, and never runs out of order.
class Reduction {
 public:
  /// Sums over some consecutive blocks.
  class Partial {
   public:
    virtual ~Partial() = default;
  };

  virtual ~Reduction() = default;
  /// Whether compute() also takes blocks whose dense context lies row by row (Block::context_by_row), and lists of
  /// doubles that begin at any double.
  virtual bool reads_context_by_row() const { return false; }
  /// An empty partial; also the scratch memory for adding a block to it. Called on any thread.
  virtual std::unique_ptr<Partial> make() const = 0;
  /// Sets the partial to the sums over one block. Called on any thread.
  virtual void compute(const Block& block, Partial& out) const = 0;
  /// Merges the sums of later rows into those of earlier ones. Called on any thread.
  virtual void merge(Partial& earlier, const Partial& later) const = 0;
  /// Called with the partials of consecutive blocks (as many at a time as the source likes), in the order of blocks and
  /// one at a time, before they are merged further: for what is better added up in order than in a tree.
  virtual void visit_in_order(Partial&) const {}
  /// Writes a partial, or sets one that make() made to what is read: how sums go from rank to rank.
  virtual void transfer(Partial& sums, ByteStream& bytes) const = 0;
  /// The same for what was kept of these blocks outside of partials, by compute() or visit_in_order().
  virtual void transfer_kept(BlockRange, ByteStream&) const {}
};

struct PassResult {
  std::unique_ptr<Reduction::Partial> sums;  ///< null when the source has no block
  Audit audit;                               ///< rows left out, by reason; the caller decides whether that is an error
};

/// Reduces every block of the source. The partial tree depends on block indices alone: neither threads nor ranks nor
/// the source's grouping change a bit. With ranks, each reduces its share of the blocks and all get the result.
PassResult run_pass(Source& source, const Reduction& reduction, const PassOptions& options);

/// A pass whose sums are a plain value. `compute(block, sums)` overwrites `sums`, `merge(earlier, later)` adds.
template <Transferable Sums, class Compute, class Merge>
std::pair<Sums, Audit> run_pass(Source& source, const Sums& empty, Compute compute, Merge merge,
                                const PassOptions& options) {
  struct Holder : Reduction::Partial {
    explicit Holder(const Sums& value) : sums(value) {}
    Sums sums;
  };
  struct ValueReduction : Reduction {
    ValueReduction(const Sums& e, Compute& c, Merge& m) : empty(e), compute_(c), merge_(m) {}
    std::unique_ptr<Partial> make() const override { return std::make_unique<Holder>(empty); }
    void compute(const Block& block, Partial& out) const override { compute_(block, static_cast<Holder&>(out).sums); }
    void merge(Partial& earlier, const Partial& later) const override {
      merge_(static_cast<Holder&>(earlier).sums, static_cast<const Holder&>(later).sums);
    }
    void transfer(Partial& sums, ByteStream& bytes) const override {
      using scrm::transfer;
      transfer(bytes, static_cast<Holder&>(sums).sums);
    }
    const Sums& empty;
    Compute& compute_;
    Merge& merge_;
  };
  const ValueReduction reduction(empty, compute, merge);
  PassResult result = run_pass(source, reduction, options);
  Sums sums = result.sums ? std::move(static_cast<Holder&>(*result.sums).sums) : empty;
  return {std::move(sums), std::move(result.audit)};
}

}  // namespace scrm
