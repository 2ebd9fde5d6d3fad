#include "scrm/engine/pass/pass.hpp"

#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "pass/merge_tree.hpp"
#include "pass/needs_audit.hpp"
#include "pass/pass_plan.hpp"
#include "pass/rank_partials.hpp"
#include "schedule/arena.hpp"
#include "scrm/engine/ranks/ranks.hpp"

namespace scrm {
namespace {

/// What one pass shares between its stages.
struct PassState {
  PassState(Source& rows, const Reduction& what, BlockRange range, const StopToken& token)
      : source(rows),
        reduction(what),
        blocks(range),
        stop(token),
        pool([&what] { return what.make(); }),
        tree(what),
        next_block(range.first) {}

  Source& source;
  const Reduction& reduction;
  BlockRange blocks;  // of the source, that are reduced here
  const StopToken& stop;
  PartialPool pool;
  MergeTree tree;
  Audit audit;
  std::int64_t next_block;
};

/// A group of blocks on its way through the stages.
struct Item {
  std::int64_t first_block = 0;
  int blocks = 0;
  std::unique_ptr<BlockGroup> rows;
  std::vector<MergeNode> sums;
  Audit audit;
};

std::unique_ptr<BlockLoader> make_loader(const PassState& pass) {
  auto loader = pass.source.make_loader();
  loader->allow_in_place(pass.reduction.reads_context_by_row());
  return loader;
}

/// Serial: the only stage that touches the source's files.
std::shared_ptr<Item> fetch_next(PassState& pass) {
  // Groups end where they do in the whole source, wherever this one begins.
  const std::int64_t group = pass.source.group_blocks();
  const std::int64_t end = std::min(pass.blocks.end, (pass.next_block / group + 1) * group);
  auto item = std::make_shared<Item>();
  item->first_block = pass.next_block;
  item->blocks = static_cast<int>(end - pass.next_block);
  item->rows = pass.source.fetch(item->first_block, item->blocks);
  pass.next_block += item->blocks;
  return item;
}

/// Parallel: decodes and sums the blocks of one group.
void reduce_group(PassState& pass, BlockLoader& loader, Item& item) {
  MergeTree tree(pass.reduction);
  for (std::int64_t index = item.first_block; index < item.first_block + item.blocks; ++index) {
    pass.stop.check();
    const Block block = pass.source.load(*item.rows, index, loader, item.audit);
    PartialLease partial = pass.pool.lease();
    try {
      pass.reduction.compute(block, *partial);
    } catch (const NeedsAudit&) {
      loader.allow_in_place(false);
      pass.reduction.compute(pass.source.load(*item.rows, index, loader, item.audit), *partial);
      loader.allow_in_place(true);
    }
    tree.add({index, 0, std::move(partial)});
  }
  item.rows.reset();
  item.sums = tree.take();
}

#ifndef NDEBUG
/// In builds with assertions all sums go through bytes and back, as they would from rank to rank: what a transfer
/// leaves out is then missing from every result, and the tests of that result fail.
void send_through_bytes(const Reduction& reduction, PartialLease& partial) {
  ByteStream written;
  reduction.transfer(*partial, written);
  ByteStream read(written.take());
  PartialLease copy(reduction.make().release(), partial.get_deleter());
  reduction.transfer(*copy, read);
  assert(read.left() == 0);
  partial = std::move(copy);
}
#endif

/// Serial, in order: the upper part of the tree.
void merge_group(PassState& pass, Item& item, const Progress& progress) {
  for (MergeNode& node : item.sums) {
    pass.reduction.visit_in_order(*node.partial);
#ifndef NDEBUG
    send_through_bytes(pass.reduction, node.partial);
#endif
    pass.tree.add(std::move(node));
  }
  pass.audit.merge(item.audit);
  if (!progress) return;
  // Other ranks are about as far as this one.
  const auto done = static_cast<double>(item.first_block + item.blocks - pass.blocks.first);
  const auto all = static_cast<double>(pass.blocks.end - pass.blocks.first);
  progress(static_cast<std::int64_t>(static_cast<double>(pass.source.rows()) * (done / all)), pass.source.rows());
}

void run_pipeline(PassState& pass, const PassPlan& plan, const Progress& progress) {
  // As many loaders as threads at work: threads that take turns share them.
  Pool<BlockLoader> loaders([&pass] { return make_loader(pass); });
  using ItemPtr = std::shared_ptr<Item>;
  const auto fetch_stage = [&pass](tbb::flow_control& control) -> ItemPtr {
    if (pass.next_block == pass.blocks.end) {
      control.stop();
      return nullptr;
    }
    return fetch_next(pass);
  };
  const auto reduce_stage = [&pass, &loaders](ItemPtr item) {
    reduce_group(pass, *loaders.lease(), *item);
    return item;
  };
  const auto merge_stage = [&pass, &progress](const ItemPtr& item) { merge_group(pass, *item, progress); };
  in_arena(plan.threads, [&] {
    tbb::parallel_pipeline(static_cast<std::size_t>(plan.groups_in_flight),
                           tbb::make_filter<void, ItemPtr>(tbb::filter_mode::serial_in_order, fetch_stage) &
                               tbb::make_filter<ItemPtr, ItemPtr>(tbb::filter_mode::parallel, reduce_stage) &
                               tbb::make_filter<ItemPtr, void>(tbb::filter_mode::serial_in_order, merge_stage));
  });
}

void run_blocks(PassState& pass, const PassOptions& options) {
  const auto* sized = dynamic_cast<const SizedReduction*>(&pass.reduction);
  const ReductionBytes bytes = sized != nullptr ? sized->bytes() : ReductionBytes{};
  const PassPlan plan = plan_pass(pass.source, bytes, options);
  if (plan.threads > 1) return run_pipeline(pass, plan, options.progress);
  const std::unique_ptr<BlockLoader> loader = make_loader(pass);
  while (pass.next_block < pass.blocks.end) {
    const std::shared_ptr<Item> item = fetch_next(pass);
    reduce_group(pass, *loader, *item);
    merge_group(pass, *item, options.progress);
  }
}

}  // namespace

PassResult run_pass(Source& source, const Reduction& reduction, const PassOptions& options) {
  Ranks* ranks = options.ranks != nullptr && !options.ranks->alone() ? options.ranks : nullptr;
  PassState pass(source, reduction,
                 ranks != nullptr ? source.share(ranks->rank(), ranks->size()) : BlockRange{0, source.blocks()},
                 options.stop);
  if (ranks != nullptr) {
    join_ranks(*ranks, {reduction, source.blocks(), pass.blocks, pass.pool, pass.tree, pass.audit},
               [&] { run_blocks(pass, options); });
  } else {
    run_blocks(pass, options);
  }
  return {std::unique_ptr<Reduction::Partial>(pass.tree.finish().release()), std::move(pass.audit)};
}

}  // namespace scrm
