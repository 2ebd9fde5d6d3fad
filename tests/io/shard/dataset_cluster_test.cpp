// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/rows/h5py_shards.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

const ReadOptions kWithCluster = {.cluster = true};

/// The cluster of each row that is left, as blocks give them.
std::vector<std::int64_t> clusters_of(Dataset& data, Audit& audit, std::int64_t fetch_rows = 5000) {
  REQUIRE(data.schema().cluster);
  BlockBuffer buffer(data.schema());
  std::vector<std::int64_t> found;
  for (std::int64_t first = 0; first < data.rows(); first += fetch_rows) {
    const std::int64_t rows = std::min(fetch_rows, data.rows() - first);
    const auto raw = data.fetch(first, rows);
    for (std::int64_t at = 0; at < rows; at += kBlockRows) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows - at));
      const Block block = buffer.view(first + at, raw->decode(first + at, count, buffer, audit));
      found.insert(found.end(), block.cluster, block.cluster + block.rows);
    }
  }
  return found;
}

std::vector<std::int64_t> clusters_of(const std::vector<std::string>& paths) {
  Dataset data(paths, kWithCluster);
  Audit audit;
  return clusters_of(data, audit);
}

std::string reading_complaint(const std::vector<std::string>& paths) {
  return complaint([&] { clusters_of(paths); });
}

}  // namespace

TEST_CASE("cluster: integers of every type and layout are those that were written") {
  const Folder folder;
  run_python(folder, R"(
n = 7001
ways = dict(plain={}, chunked=dict(chunks=(700,)), gzip=dict(chunks=(700,), compression='gzip', shuffle=True),
            checked=dict(chunks=(700,), compression='gzip', fletcher32=True))
for t in ('i1', 'u1', 'i2', 'i4', '>i4', 'u4', 'i8', '>i8', 'u8'):
    for name, how in ways.items():
        for ctype in ('f4', 'f8'):
            shard(f'{t.replace(">", "b")}_{name}_{ctype}.h5', usual(n, 3, ctype))
            with h5py.File(f'{t.replace(">", "b")}_{name}_{ctype}.h5', 'a') as f:
                f.create_dataset('cluster', data=(np.arange(n) * 7 % 101 + (2**62 if t[-1] == '8' else 0)).astype(t), **how)
)");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    CAPTURE(entry.path().string());
    const std::vector<std::int64_t> found = clusters_of({entry.path().string()});
    REQUIRE(found.size() == 7001);
    const bool wide = entry.path().filename().string().find("8_") < 3;
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      wrong += found[i] != static_cast<std::int64_t>(i * 7 % 101) + (wide ? std::int64_t{1} << 62 : 0);
    }
    CHECK(wrong == 0);
    ++files;
  }
  CHECK(files == 9 * 4 * 2);
}

TEST_CASE("cluster: the whole range of 64 bits tells rows apart") {
  const Folder folder;
  run_python(folder, R"(
c = usual(3); c['cluster'] = np.array([-2**63, -1, 2**63 - 1]); shard('signed.h5', c)
c = usual(3); c['cluster'] = np.array([0, 2**63, 2**64 - 1], 'u8'); shard('unsigned.h5', c)
)");
  CHECK(clusters_of({folder / "signed.h5"}) == std::vector<std::int64_t>{INT64_MIN, -1, INT64_MAX});
  CHECK(clusters_of({folder / "unsigned.h5"}) == std::vector<std::int64_t>{0, INT64_MIN, -1});
}

TEST_CASE("cluster: bad rows take their number with them") {
  const Folder folder;
  run_python(folder, R"(
n = 5000
for t in ('f4', 'f8'):
    for name, how in dict(plain={}, gzip=dict(compression='gzip')).items():
        c = usual(n, 3, t); c['cluster'] = np.arange(n) * 10**12
        c['propensity'][[0, 5, 2047, 2048, 4999]] = 0; c['loss'][[6, 3000]] = np.nan; c['context'][100, 1] = np.inf
        shard(f'{t}_{name}.h5', c, how=how)
)");
  const std::vector<std::int64_t> bad = {0, 5, 6, 100, 2047, 2048, 3000, 4999};
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    for (const bool by_row : {false, true}) {
      CAPTURE(entry.path().string());
      CAPTURE(by_row);
      Dataset data({entry.path().string()}, kWithCluster);
      BlockBuffer buffer(data.schema());
      if (by_row) buffer.allow_in_place();
      const auto is_bad = [&bad](std::int64_t row) { return std::find(bad.begin(), bad.end(), row) != bad.end(); };
      std::int64_t seen = 0, expected = 0, wrong = 0;
      const auto raw = data.fetch(0, data.rows());
      for (std::int64_t first = 0; first < data.rows(); first += kBlockRows) {
        const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, data.rows() - first));
        Audit audit;
        const Block block = buffer.view(first, raw->decode(first, count, buffer, audit));
        // Rows that are handed out where they lie are all there: whoever asked for them has to look.
        const bool audited = block.context_by_row == nullptr;
        for (std::int64_t row = first; row < first + count; ++row) expected += !audited || !is_bad(row);
        std::int64_t row = first;
        for (int i = 0; i < block.rows; ++i, ++row, ++seen) {
          while (audited && is_bad(row)) ++row;
          wrong += block.cluster[i] != row * 1'000'000'000'000;
          wrong += !is_bad(row) && (block.loss[i] != loss_value(row) || block.action[i] != action_value(row));
        }
      }
      CHECK(seen == expected);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("cluster: one row, no rows and many tiny shards") {
  const Folder folder;
  run_python(folder, R"(
at = 0
for s in range(400):
    n = s % 8
    c = usual(n, 2, 'f4' if s % 2 else 'f8'); c['cluster'] = np.arange(at, at + n, dtype='i4' if s % 3 else 'i8'); at += n
    os.makedirs('many', exist_ok=True); shard(f'many/{s:04}.h5', c)
for n in (0, 1):
    c = usual(n); c['cluster'] = np.full(n, 42); shard(f'{n}.h5', c)
)");
  CHECK(clusters_of({folder / "0.h5"}).empty());
  CHECK(clusters_of({folder / "1.h5"}) == std::vector<std::int64_t>{42});
  const std::vector<std::int64_t> found = clusters_of({folder / "many"});
  REQUIRE(found.size() == 1400);
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == static_cast<std::int64_t>(i));
}

TEST_CASE("cluster: it is read only where it is asked for, and then costs memory that is counted") {
  const Folder folder;
  run_python(folder, R"(
c = usual(5000); c['cluster'] = np.arange(5000); shard('a.h5', c, how=dict(compression='gzip'))
c['cluster'] = np.arange(3); shard('short.h5', c)
shard('none.h5', usual(5000))
)");
  Dataset without({folder / "a.h5"}, {}), with({folder / "a.h5"}, kWithCluster);
  CHECK_FALSE(without.schema().cluster);
  CHECK(BlockBuffer(without.schema()).view(0, 1).cluster == nullptr);
  CHECK(with.fetch_bytes(5000) > without.fetch_bytes(5000));
  CHECK(block_buffer_bytes(with.schema()) == block_buffer_bytes(without.schema()) + 8 * kBlockRows);
  CHECK_FALSE(Dataset({folder / "none.h5"}, kWithCluster).schema().cluster);
  CHECK_FALSE(Dataset({folder / "a.h5"}, {.cluster = true, .contexts_only = true}).schema().cluster);
  // Who does not ask need not care.
  CHECK(Dataset({folder / "short.h5", folder / "none.h5"}, {}).rows() == 10000);
}

TEST_CASE("cluster: what is wrong with it is named with file and dataset") {
  const Folder folder;
  run_python(folder, R"(
def put(name, values, **how):
    shard(name + '.h5', usual(3000))
    with h5py.File(name + '.h5', 'a') as f: f.create_dataset('cluster', data=values, **how)
put('short', np.arange(2999)); put('float', np.arange(3000.)); put('text', np.array([b'u7'] * 3000))
put('wide', np.zeros((3000, 2), 'i8')); put('lzf', np.arange(3000), compression='lzf')
shard('group.h5', usual(3000))
with h5py.File('group.h5', 'a') as f: f.create_group('cluster')
put('damaged', np.arange(3000), chunks=(1000,), compression='gzip')
with h5py.File('damaged.h5') as f: info = f['cluster'].id.get_chunk_info_by_coord((1000,))
with open('damaged.h5', 'r+b') as f: f.seek(info.byte_offset + info.size // 2); f.write(b'\x55\xaa\x55')
put('unwritten', np.arange(3000), chunks=(1000,))
with h5py.File('unwritten.h5', 'a') as f: del f['cluster']; f.create_dataset('cluster', (3000,), 'i8', chunks=(1000,))[:1000] = 1
put('good', np.arange(3000))
)");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"short.h5", ": cluster: has 2999 rows, but loss has 3000"},
      {"float.h5", ": cluster: holds real numbers, clusters are integers: store them as int64"},
      {"text.h5", ": cluster: holds strings"},
      {"wide.h5", ": cluster: must have one column, it has 2"},
      {"lzf.h5", ": cluster: "},
      {"group.h5", ": cluster: is not a dataset"},
      {"damaged.h5", ": cluster: the chunk with rows 1000 to 1999"},
      {"unwritten.h5", ": cluster: row 1000 and others after it were never written"},
  };
  for (const auto& [file, words] : cases) {
    CAPTURE(file);
    const std::string said = reading_complaint({folder / file});
    CAPTURE(said);
    CHECK(said.rfind((folder / file) + words, 0) == 0);
  }
  CHECK(reading_complaint({folder / "good.h5"}) == "no error");
}

TEST_CASE("cluster: all shards have it or none") {
  const Folder folder;
  run_python(folder, R"(
for name in 'ac':
    c = usual(10); c['cluster'] = np.arange(10); shard(name + '.h5', c)
shard('b.h5', usual(10))
)");
  const std::string a = folder / "a.h5", b = folder / "b.h5", c = folder / "c.h5";
  for (const std::vector<std::string>& paths : {std::vector{a, b}, {b, a}, {a, b, c}}) {
    const std::string said = reading_complaint(paths);
    CAPTURE(said);
    CHECK(said.rfind(b + ": cluster: there is no such dataset, but ", 0) == 0);
    CHECK((holds(said, a + " has one") || holds(said, c + " has one")));
    CHECK(holds(said, "add it here"));
  }
  CHECK(clusters_of({a, c}).size() == 20);
}
