// labels: fast io threads
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/rows/h5py_shards.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

double context_at(const Block& block, std::int64_t row, std::int64_t column) {
  const std::int64_t at = column * kBlockRows + row;
  return block.context_type == FloatType::f32 ? static_cast<double>(static_cast<const float*>(block.context)[at])
                                              : static_cast<const double*>(block.context)[at];
}

/// Reads everything in fetches of `fetch_rows` and blocks of `block_rows`, and hands out (block, first row).
template <class Check>
void for_each_block(Dataset& data, std::int64_t fetch_rows, int block_rows, Check&& check) {
  BlockBuffer buffer(data.schema());
  for (std::int64_t first = 0; first < data.rows(); first += fetch_rows) {
    const std::int64_t rows = std::min(fetch_rows, data.rows() - first);
    const auto raw = data.fetch(first, rows);
    for (std::int64_t at = 0; at < rows; at += block_rows) {
      const int count = static_cast<int>(std::min<std::int64_t>(block_rows, rows - at));
      Audit audit;
      REQUIRE(raw->decode(first + at, count, buffer, audit) == count);
      REQUIRE(audit.bad_rows() == 0);
      check(buffer.view(first + at, count), first + at);
    }
  }
}

/// Counts values that differ from what Python wrote, for a continuous data set in one shard.
std::int64_t differences(Dataset& data, std::int64_t fetch_rows, int block_rows) {
  std::int64_t wrong = 0;
  std::int64_t seen = 0;
  for_each_block(data, fetch_rows, block_rows, [&](const Block& block, std::int64_t first) {
    seen += block.rows;
    for (int i = 0; i < block.rows; ++i) {
      for (std::int64_t j = 0; j < block.features; ++j) wrong += context_at(block, i, j) != context_value(first + i, j);
      wrong += block.action[i] != action_value(first + i);
      wrong += block.loss[i] != loss_value(first + i);
      wrong += block.propensity[i] != propensity_value(first + i);
    }
  });
  return wrong + (seen != data.rows() ? 1'000'000'000 : 0);
}

}  // namespace

TEST_CASE("dataset: every way of storing gives the values that were written, bit for bit") {
  const Folder folder;
  run_python(folder, R"(
n, d = 9001, 11
rows = lambda r: (lambda v: dict(chunks=(r,) + v.shape[1:]))
def rows_with(r, **more): return lambda v: dict(chunks=(r,) + v.shape[1:], **more)
ways = dict(
  contiguous={}, chunked=rows(1000), one_chunk=rows(9001), automatic=dict(chunks=True),
  automatic_gzip=dict(chunks=True, compression='gzip'),
  gzip=rows_with(1000, compression='gzip', compression_opts=1),
  shuffle_gzip=rows_with(4096, compression='gzip', shuffle=True),
  shuffle=rows_with(777, shuffle=True), checksum_only=rows_with(1000, fletcher32=True),
  fletcher=rows_with(1000, compression='gzip', fletcher32=True),
  extendible=lambda v: dict(chunks=(16384,) + v.shape[1:], maxshape=(None,) + v.shape[1:], compression='gzip', shuffle=True),
  split=lambda v: dict(chunks=(500, 4) if v.ndim == 2 else (500,), compression='gzip', shuffle=True),
  split_plain=lambda v: dict(chunks=(500, 4) if v.ndim == 2 else (500,)),
  many_chunks=lambda v: dict(chunks=(4,) + v.shape[1:]),
)
for name, how in ways.items(): shard(name + '.h5', usual(n, d), how=how)
for t in ['f4', '>f8', '>f4', 'f2']:
    shard('type_' + t.replace('>', 'big_') + '.h5', dict(context=ctx(n, d, t), action=act(n, 'f4'), loss=loss(n, t), propensity=prop(n, t)),
          how=dict(compression='gzip') if t == 'f4' else {})
with h5py.File('compact.h5', 'w') as f:
    attrs(f)
    for k, v in usual(200, 3).items():
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE); p.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(f.id, k.encode(), h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(v.shape), p).write(h5py.h5s.ALL, h5py.h5s.ALL, v)
with h5py.File('external.h5', 'w') as f:
    attrs(f)
    for k, v in usual(n, d).items():
        f.create_dataset(k, v.shape, 'f8', external=[(os.path.abspath(k + '.raw'), 0, v.nbytes)])[...] = v
with h5py.File('virtual.h5', 'w') as f:
    attrs(f)
    for k, v in usual(n, d).items():
        l = h5py.VirtualLayout(v.shape, 'f8'); l[...] = h5py.VirtualSource('gzip.h5', k, v.shape)
        f.create_virtual_dataset(k, l)
with h5py.File('user_block.h5', 'w', userblock_size=512) as f:
    attrs(f)
    for k, v in usual(n, d).items(): f.create_dataset(k, data=v, chunks=(1000,) + v.shape[1:] if k == 'context' else None)
with h5py.File('latest.h5', 'w', libver='latest') as f:
    attrs(f)
    for k, v in usual(n, d).items(): f.create_dataset(k, data=v, chunks=(1000,) + v.shape[1:], compression='gzip', shuffle=True)
with h5py.File('unfiltered_chunk.h5', 'w') as f:  # a chunk whose filters were left out, as its mask says
    attrs(f)
    for k, v in usual(2000, 4).items():
        s = f.create_dataset(k, v.shape, 'f8', chunks=(1000,) + v.shape[1:], compression='gzip', shuffle=True)
        s[:1000] = v[:1000]; s.id.write_direct_chunk((1000,) + (0,) * (v.ndim - 1), v[1000:].tobytes(), 3)
)");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    if (entry.path().extension() != ".h5") continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    Dataset data({entry.path().string()}, {});
    CHECK(data.rows() == (name == "compact.h5" ? 200 : name == "unfiltered_chunk.h5" ? 2000 : 9001));
    CHECK(data.schema().context_type ==
          (name == "type_f4.h5" || name == "type_big_f4.h5" ? FloatType::f32 : FloatType::f64));
    CHECK(differences(data, 1 << 20, kBlockRows) == 0);
    CHECK(differences(data, 1531, 700) == 0);
    CHECK(differences(data, 4096, 2048) == 0);
  }
}

TEST_CASE("dataset: odd shapes, from no rows and no context to two thousand features") {
  const Folder folder;
  run_python(folder, R"(
for n in (0, 1, 2, 7, 2047, 2048, 2049):
    for d in (None, 0, 1, 2, 5, 33):
        for z in ('', '_gzip'):
            c = usual(n, d); how = dict(compression='gzip', shuffle=True, chunks=True) if z and n > 0 and d != 0 else {}
            shard(f'{n}_{d}{z}.h5', c, how=how)
shard('3000_2000.h5', usual(3000, 2000, 'f4'))
shard('3000_2000_auto.h5', usual(3000, 2000), how=dict(compression='gzip', shuffle=True))
shard('40_10000.h5', usual(40, 10000), how=dict(chunks=True))
c = usual(50, 4); c['loss'] = c['loss'][:, None]; shard('column_of_one.h5', c)
)");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    Dataset data({entry.path().string()}, {});
    CHECK(differences(data, 100'000, kBlockRows) == 0);
    CHECK(differences(data, 600, 37) == 0);
    CHECK(data.fetch_bytes(1) <= data.fetch_bytes(5000));
  }
}

TEST_CASE("dataset: categorical actions of any integer type, and text and number attributes of any make") {
  const Folder folder;
  run_python(folder, R"(
for t in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', '>i4', '>u8'):
    n = 5000
    shard('t' + t.replace('>', 'b') + '.h5', dict(context=ctx(n, 2, 'f4'), action=cat(n, 13, t), loss=loss(n), log_propensity=np.log(prop(n)), propensity=prop(n)),
          'categorical', how=dict(compression='gzip', shuffle=True), num_actions=np.array([13], 'u1'), rollout=np.int16(4))
with h5py.File('ti4.h5', 'a') as f:
    f.attrs['format'] = np.bytes_(b'scrm-log'); f.attrs['num_actions'] = 13.0; f.attrs['format_version'] = np.uint64(1)
    del f.attrs['action_kind']; f.attrs.create('action_kind', 'categorical', dtype=h5py.string_dtype('ascii', 20))
)");
  Dataset data({folder.path.string()}, {});
  CHECK(data.shards().size() == 10);
  CHECK(data.schema().num_actions == 13);
  CHECK(data.schema().propensity == PropensityForm::logarithm);
  CHECK(data.schema().context_type == FloatType::f32);
  CHECK(data.rollouts() == std::vector<int>{4});
  std::int64_t wrong = 0;
  for_each_block(data, 7777, 2000, [&](const Block& block, std::int64_t first) {
    for (int i = 0; i < block.rows; ++i) {
      const std::int64_t row = (first + i) % 5000;
      wrong += block.category[i] != category_value(row, 13);
      wrong += std::abs(block.log_propensity[i] - std::log(propensity_value(row))) > 1e-15 * 5;
      wrong += context_at(block, i, 1) != context_value(row, 1);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("dataset: multilabel bits of any integer type or bool, and the product of label propensities") {
  const Folder folder;
  run_python(folder, R"(
n = 3000
for t in ('u1', 'i8', '?', '>i2'):
    for k in (1, 6, 64):
        for z in ('', 'gzip', 'fletcher'):
            shard(f'{k}_{t.replace(">", "b").replace("?", "bool")}_{z}.h5', dict(context=ctx(n, 2), action=bits(n, k, t), loss=loss(n), label_propensity=labels(n, k, 'f4')),
                  'multilabel', how=dict(compression='gzip', shuffle=True, fletcher32=z == 'fletcher') if z else {})
k = 700
v = labels(50, k); v[0] = 1; v[1] = 1e-300; v[2, 5] = 5e-324
shard('700.h5', dict(action=bits(50, k), loss=loss(50), label_propensity=v), 'multilabel')
)");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    Dataset data({entry.path().string()}, {.label_propensity = false});
    CHECK(data.schema().propensity == PropensityForm::label_product);
    const int labels = data.schema().num_actions;
    CHECK(std::to_string(labels) == name.substr(0, std::to_string(labels).size()));
    double error = 0;
    std::int64_t wrong = 0;
    for_each_block(data, 1000, 999, [&](const Block& block, std::int64_t first) {
      for (int i = 0; i < block.rows; ++i) {
        long double sum = 0;
        for (int k = 0; k < labels; ++k) {
          wrong += block.bits[k * kBlockRows + i] != bit_value(first + i, k);
          if (labels < 700) wrong += block.label_propensity[k * kBlockRows + i] != label_propensity_value(first + i, k);
          sum += std::log(static_cast<long double>(block.label_propensity[k * kBlockRows + i]));
        }
        error = std::max(error, std::abs(block.log_propensity[i] - static_cast<double>(sum)) /
                                    std::max(1.0, std::abs(static_cast<double>(sum))));
      }
      if (labels == 700) CHECK(block.log_propensity[0] == 0);
    });
    CHECK(wrong == 0);
    CHECK(error < 1e-13);  // 700 products, each rounded once: 700 * 1.1e-16
  }
}

TEST_CASE("dataset: sparse contexts, stored any way and cut anywhere") {
  const Folder folder;
  run_python(folder, R"(
def sparse(name, n, d, how={}, it='i4', pt='i8', vt='f8', per=lambda i: i % 4):
    counts = np.array([per(i) for i in range(n)], 'i8'); ptr = np.concatenate([[0], np.cumsum(counts)]).astype(pt)
    row = np.repeat(np.arange(n), counts); within = np.arange(ptr[-1]) - ptr[:-1].astype('i8')[row] if n else np.zeros(0, 'i8')
    with h5py.File(name, 'w') as f:
        attrs(f)
        for k, v in usual(n, None).items(): f.create_dataset(k, data=v)
        g = f.create_group('context'); g.attrs['num_features'] = d
        g.create_dataset('indptr', data=ptr, **how); e = how if len(row) else {}
        g.create_dataset('indices', data=((row + 5 * within) % max(d, 1)).astype(it), **e)
        g.create_dataset('values', data=(row % 50 + within / 8).astype(vt), **e)
sparse('1.h5', 5000, 1000); sparse('2.h5', 5000, 1000, dict(compression='gzip', shuffle=True, chunks=(997,)), 'i8', 'i4', 'f4')
sparse('3.h5', 0, 1000); sparse('4.h5', 3, 1000, per=lambda i: 0); sparse('5.h5', 4000, 1000, dict(fletcher32=True), 'u2', '>i8', '>f4')
sparse('6.h5', 2500, 1000, per=lambda i: 900 if i == 1200 else 0)
)");
  Dataset data({folder.path.string()}, {});
  CHECK(data.schema().sparse);
  CHECK(data.schema().features == 1000);
  const std::vector<std::int64_t> starts = {0, 5000, 10000, 10003, 14003};
  for (const auto& [fetch_rows, block_rows] : {std::pair{100'000, 2048}, {1777, 300}, {1, 1}}) {
    std::int64_t wrong = 0;
    std::int64_t entries = 0;
    for_each_block(data, fetch_rows, block_rows, [&](const Block& block, std::int64_t first) {
      wrong += block.sparse.indptr[0] != 0;
      for (int i = 0; i < block.rows; ++i) {
        const auto shard = std::upper_bound(starts.begin(), starts.end(), first + i) - starts.begin() - 1;
        const std::int64_t row = first + i - starts[static_cast<std::size_t>(shard)];
        const std::int64_t count = shard == 2 ? 0 : shard == 4 ? (row == 1200 ? 900 : 0) : row % 4;
        wrong += block.sparse.indptr[i + 1] - block.sparse.indptr[i] != count;
        for (std::int64_t e = block.sparse.indptr[i]; e < block.sparse.indptr[i + 1]; ++e, ++entries) {
          const std::int64_t within = e - block.sparse.indptr[i];
          wrong += block.sparse.indices[e] != (row + 5 * within) % 1000;
          wrong += block.sparse.values[e] != static_cast<double>(row % 50) + static_cast<double>(within) / 8;
        }
      }
    });
    CHECK(wrong == 0);
    CHECK(entries == 7500 + 7500 + 6000 + 900);
  }
}

TEST_CASE("dataset: hundreds of tiny shards read in name order, with rewards, targets and rollouts") {
  const Folder folder;
  run_python(folder, R"(
first = 0
os.mkdir('d')
for s in range(400):
    n = s % 6
    c = {k: v[first:first + n] for k, v in usual(1200, 3, 'f4' if s % 2 else 'f8').items()}
    c['target/b'] = c['propensity'] / 2; c['target/a'] = c['propensity'] / 4
    if s % 7: c['target/sometimes'] = c['propensity']
    shard(f'd/part-{s:03d}.h5', c, rollout=s // 100)
    first += n
open('d/notes.txt', 'w').write('not a shard'); open('d/.part-000.h5', 'w').write('half written')
)");
  Dataset data({folder / "d"}, {.reward = true, .targets = {"b", "a"}});
  REQUIRE(data.rows() == 996);
  CHECK(data.shards().size() == 400);
  CHECK(data.rollouts() == std::vector<int>{0, 1, 2, 3});
  CHECK(data.schema().context_type == FloatType::f64);
  std::int64_t wrong = 0;
  for_each_block(data, 300, 100, [&](const Block& block, std::int64_t first) {
    for (int i = 0; i < block.rows; ++i) {
      for (int j = 0; j < 3; ++j) wrong += context_at(block, i, j) != context_value(first + i, j);
      wrong += block.loss[i] != -loss_value(first + i);
      wrong += block.targets[0][i] != propensity_value(first + i) / 2;
      wrong += block.targets[1][i] != propensity_value(first + i) / 4;
    }
  });
  CHECK(wrong == 0);

  Dataset third = data.rollout(2);
  CHECK(third.shards().size() == 100);
  CHECK(third.shards().front().first_row == 0);
  std::int64_t before = 0;
  for (std::size_t s = 0; s < 200; ++s) before += data.shards()[s].rows;
  for_each_block(third, 1000, 2048, [&](const Block& block, std::int64_t first) {
    for (int i = 0; i < block.rows; ++i) CHECK(block.loss[i] == -loss_value(before + first + i));
  });
  CHECK(Dataset({folder / "d"}, {.all_targets = true}).schema().targets == std::vector<std::string>{"a", "b"});
}

TEST_CASE("dataset: threads that decode the same rows at once agree") {
  const Folder folder;
  run_python(folder,
             "shard('a.h5', usual(300000, 5), how=lambda v: dict(chunks=(40000,) + v.shape[1:], compression='gzip', "
             "shuffle=True))");
  Dataset data({folder / "a.h5"}, {});
  CHECK(data.chunk_rows() == 40000);
  const auto first_half = data.fetch(0, 150'000);
  const auto second_half = data.fetch(150'000, 150'000);
  std::atomic<std::int64_t> wrong = 0;
  std::atomic<std::int64_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      BlockBuffer buffer(data.schema());
      Audit audit;
      for (std::int64_t first = next.fetch_add(1500); first < data.rows(); first = next.fetch_add(1500)) {
        (first < 150'000 ? first_half : second_half)->decode(first, 1500, buffer, audit);
        for (int i = 0; i < 1500; ++i) {
          for (int j = 0; j < 5; ++j) wrong += buffer.context_f64()[j * kBlockRows + i] != context_value(first + i, j);
          wrong += buffer.loss()[i] != loss_value(first + i);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
