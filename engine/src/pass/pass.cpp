#include "scrm/engine/pass/pass.hpp"

#include <tbb/parallel_pipeline.h>

#include <algorithm>

#include "pass/merge_tree.hpp"
#include "pass/pass_plan.hpp"
#include "schedule/arena.hpp"

namespace scrm {
namespace {

/// What one pass shares between its stages.
struct PassState {
  PassState(Source& rows, const Reduction& what, const StopToken& token)
      : source(rows), reduction(what), stop(token), pool([&what] { return what.make(); }), tree(what) {}

  Source& source;
  const Reduction& reduction;
  const StopToken& stop;
  PartialPool pool;
  MergeTree tree;
  Audit audit;
  std::int64_t next_block = 0;
};

/// A group of blocks on its way through the stages.
struct Item {
  std::int64_t first_block = 0;
  int blocks = 0;
  std::unique_ptr<BlockGroup> rows;
  PartialLease sums;
  Audit audit;
};

std::unique_ptr<BlockLoader> make_loader(const PassState& pass) {
  return pass.reduction.reads_context_by_row() ? pass.source.make_row_loader() : pass.source.make_loader();
}

/// Serial: the only stage that touches the source's files.
std::shared_ptr<Item> fetch_next(PassState& pass) {
  const std::int64_t left = pass.source.blocks() - pass.next_block;
  auto item = std::make_shared<Item>();
  item->first_block = pass.next_block;
  item->blocks = static_cast<int>(std::min<std::int64_t>(left, pass.source.group_blocks()));
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
    pass.reduction.compute(block, *partial);
    tree.add(std::move(partial));
  }
  item.rows.reset();
  item.sums = tree.finish();
}

/// Serial, in order: the upper part of the tree.
void merge_group(PassState& pass, Item& item, const Progress& progress) {
  pass.reduction.visit_in_order(*item.sums);
  pass.tree.add(std::move(item.sums));
  pass.audit.merge(item.audit);
  if (!progress) return;
  progress(std::min(pass.source.rows(), (item.first_block + item.blocks) * kBlockRows), pass.source.rows());
}

void run_pipeline(PassState& pass, const PassPlan& plan, const Progress& progress) {
  // As many loaders as threads at work: threads that take turns share them.
  Pool<BlockLoader> loaders([&pass] { return make_loader(pass); });
  using ItemPtr = std::shared_ptr<Item>;
  const auto fetch_stage = [&pass](tbb::flow_control& control) -> ItemPtr {
    if (pass.next_block == pass.source.blocks()) {
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

}  // namespace

PassResult run_pass(Source& source, const Reduction& reduction, const PassOptions& options) {
  PassState pass(source, reduction, options.stop);
  const auto* sized = dynamic_cast<const SizedReduction*>(&reduction);
  const PassPlan plan = plan_pass(source, sized != nullptr ? sized->bytes() : ReductionBytes{}, options);
  if (plan.threads == 1) {
    const std::unique_ptr<BlockLoader> loader = make_loader(pass);
    while (pass.next_block < source.blocks()) {
      const std::shared_ptr<Item> item = fetch_next(pass);
      reduce_group(pass, *loader, *item);
      merge_group(pass, *item, options.progress);
    }
  } else {
    run_pipeline(pass, plan, options.progress);
  }
  return {std::unique_ptr<Reduction::Partial>(pass.tree.finish().release()), std::move(pass.audit)};
}

}  // namespace scrm
