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

/// What is said when everything is opened, fetched and decoded.
std::string reading_complaint(const std::vector<std::string>& paths, const ReadOptions& options = {}) {
  return complaint([&] {
    Dataset data(paths, options);
    BlockBuffer buffer(data.schema());
    Audit audit;
    for (std::int64_t first = 0; first < data.rows(); first += 5000) {
      const std::int64_t rows = std::min<std::int64_t>(5000, data.rows() - first);
      const auto raw = data.fetch(first, rows);
      for (std::int64_t at = 0; at < rows; at += kBlockRows) {
        const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows - at));
        raw->decode(first + at, count, buffer, audit);
      }
    }
    require_no_bad_rows(audit);
  });
}

bool says(const std::string& text, const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return holds(text, part); });
}

struct Case {
  std::string file;
  std::vector<std::string> parts;
};

}  // namespace

TEST_CASE("dataset: what is wrong with a shard is named with file, dataset and numbers") {
  const Folder folder;
  run_python(folder, R"(
def change(name, edit, n=100, kind='continuous', **more):
    c = usual(n)
    if kind == 'categorical': c['action'] = cat(n, 5)
    if kind == 'multilabel': c['action'] = bits(n, 5)
    shard(name + '.h5', c, kind, **more)
    with h5py.File(name + '.h5', 'a') as f: edit(f)
def drop(*names):
    def edit(f):
        for n in names: del f[n]
    return edit
def put(**new):
    def edit(f):
        for k, v in new.items():
            if k in f: del f[k]
            f[k] = v
    return edit
def attr(k, v=None):
    def edit(f):
        del f.attrs[k]
        if v is not None: f.attrs[k] = v
    return edit
for a in ('format', 'format_version', 'action_kind'): change('no_' + a, attr(a))
change('other_format', attr('format', 'scrm-labels')); change('future', attr('format_version', 2))
change('odd_kind', attr('action_kind', 'ordinal')); change('number_kind', attr('action_kind', 3))
change('no_num_actions', lambda f: None, kind='categorical')
change('zero_actions', lambda f: None, kind='categorical', num_actions=0)
change('text_actions', lambda f: None, kind='categorical', num_actions='five')
change('labels_differ', lambda f: None, kind='multilabel', num_actions=6)
for d in ('loss', 'action', 'propensity'): change('no_' + d, drop(d))
change('short_action', put(action=act(99))); change('long_context', put(context=ctx(101, 3)))
change('text_action', put(action=np.array([b'x'] * 100))); change('cube', put(context=np.zeros((100, 3, 2))))
change('flat_context', put(context=loss(100))); change('wide_loss', put(loss=ctx(100, 2)))
change('scalar_loss', put(loss=1.0)); change('float_category', put(action=act(100)), kind='categorical', num_actions=5)
change('flat_bits', put(action=cat(100, 2)), kind='multilabel'); change('few_labels', put(label_propensity=labels(100, 4)), kind='multilabel')
change('group_loss', lambda f: (f.__delitem__('loss'), f.create_group('loss')))
change('lzf', lambda f: (f.__delitem__('context'), f.create_dataset('context', data=ctx(100, 3), compression='lzf')))
def csr(ptr, idx, val, d=4):
    def edit(f):
        del f['context']; g = f.create_group('context')
        if d is not None: g.attrs['num_features'] = d
        g['indptr'] = np.array(ptr); g['indices'] = np.array(idx); g['values'] = np.array(val)
    return edit
change('falling', csr([0, 2, 1, 3], [0, 1, 2], [1., 1, 1]), 3); change('beyond', csr([0, 1, 2, 4], [0, 1, 2], [1., 1, 1]), 3)
change('bad_index', csr([0, 1, 2, 3], [0, 4, 2], [1., 1, 1]), 3); change('negative_index', csr([0, 1, 2, 3], [0, 1, -1], [1., 1, 1]), 3)
change('short_indptr', csr([0, 1, 2], [0, 1], [1., 1]), 3); change('uneven', csr([0, 1, 2, 3], [0, 1, 2], [1., 1]), 3)
change('late_start', csr([1, 1, 2, 3], [0, 1, 2], [1., 1, 1]), 3)
change('no_features', csr([0, 1, 2, 3], [0, 1, 2], [1., 1, 1], None), 3)
open('text.h5', 'w').write('a,b,c\n' * 100); open('empty.h5', 'w').close(); os.mkdir('nothing')
change('good', lambda f: None)
)");
  const std::vector<Case> cases = {
      {"no_format.h5", {"no attribute format"}},
      {"no_format_version.h5", {"format_version"}},
      {"no_action_kind.h5", {"action_kind"}},
      {"other_format.h5", {"scrm-labels", "scrm-log"}},
      {"future.h5", {"format_version", "is 2"}},
      {"odd_kind.h5", {"action_kind", "ordinal"}},
      {"number_kind.h5", {"action_kind", "text"}},
      {"no_num_actions.h5", {"num_actions"}},
      {"zero_actions.h5", {"num_actions", "is 0"}},
      {"text_actions.h5", {"num_actions", "whole number"}},
      {"labels_differ.h5", {"action", "5", "6"}},
      {"no_loss.h5", {": loss: there is no such dataset"}},
      {"no_action.h5", {": action: there is no such dataset"}},
      {"no_propensity.h5", {": propensity: ", "log_propensity"}},
      {"short_action.h5", {": action: has 99 rows, but loss has 100"}},
      {"long_context.h5", {": context: has 101 rows, but loss has 100"}},
      {"text_action.h5", {": action: holds strings"}},
      {"cube.h5", {": context: has 3 dimensions"}},
      {"flat_context.h5", {": context: must have two dimensions"}},
      {"wide_loss.h5", {": loss: must have one column, it has 2"}},
      {"scalar_loss.h5", {": loss: has 0 dimensions"}},
      {"float_category.h5", {": action: holds real numbers"}},
      {"flat_bits.h5", {": action: must have two dimensions"}},
      {"few_labels.h5", {": label_propensity: has 4 columns, but action has 5"}},
      {"group_loss.h5", {": loss: is not a dataset"}},
      {"lzf.h5", {": context: ", "lzf", "gzip"}},
      {"falling.h5", {": context/indptr, row 2: 1 is less than 2"}},
      {"late_start.h5", {": context/indptr, row 0: 1 is not 0"}},
      {"beyond.h5", {": context/indptr, row 3: 4 is beyond the 3 entries"}},
      {"bad_index.h5", {": context/indices, row 1: 4 ", "4 features"}},
      {"negative_index.h5", {": context/indices, row 2: -1 "}},
      {"short_indptr.h5", {": context/indptr: has 3 values", "needs 4"}},
      {"uneven.h5", {": context/indices: has 3 entries", "2"}},
      {"no_features.h5", {": context: ", "num_features"}},
      {"text.h5", {"is not an HDF5 file"}},
      {"empty.h5", {"is empty"}},
      {"missing.h5", {"no such file"}},
      {"nothing", {"holds no .h5 files"}},
  };
  for (const Case& one : cases) {
    const std::string said = reading_complaint({folder / one.file});
    CAPTURE(one.file);
    CAPTURE(said);
    CHECK(says(said, one.parts));
    CHECK(said.find(folder / one.file) == 0);
  }
  CHECK(reading_complaint({folder / "good.h5"}) == "no error");
  CHECK(says(reading_complaint({folder / "good.h5"}, {.targets = {"mine"}}),
             {"good.h5: target/mine: there is no such dataset"}));
}

TEST_CASE("dataset: shards that do not fit together are named with both numbers") {
  const Folder folder;
  run_python(folder, R"(
n = 50
shard('a.h5', usual(n, 3)); shard('b.h5', usual(n, 4))
c = usual(n, 3); c['action'] = cat(n, 5); shard('c.h5', c, 'categorical', num_actions=5); shard('d.h5', c, 'categorical', num_actions=6)
c = usual(n, 3); c['log_propensity'] = np.log(c.pop('propensity')); shard('e.h5', c)
c = usual(n, 4); c['log_propensity'] = np.log(c['propensity']); c['log_propensity'][7] += 0.5; shard('g.h5', c)
with h5py.File('f.h5', 'w') as f:
    attrs(f)
    for k, v in usual(n, None).items(): f[k] = v
    g = f.create_group('context'); g.attrs['num_features'] = 3; g['indptr'] = np.zeros(n + 1, 'i8'); g['indices'] = np.zeros(0, 'i4'); g['values'] = np.zeros(0)
)");
  const auto pair = [&](const char* first, const char* second) {
    return reading_complaint({folder / first, folder / second});
  };
  CHECK(says(pair("a.h5", "b.h5"), {"b.h5: context: has 4 features, but ", "a.h5 has 3"}));
  CHECK(says(pair("a.h5", "c.h5"), {"c.h5: attribute action_kind: is categorical, but ", "a.h5 has continuous"}));
  CHECK(says(pair("c.h5", "d.h5"), {"d.h5: attribute num_actions: has 6 actions, but ", "c.h5 has 5"}));
  CHECK(says(pair("a.h5", "e.h5"), {"e.h5: propensity: ", "a.h5 has no log_propensity"}));
  CHECK(says(pair("b.h5", "g.h5"), {"g.h5: log_propensity, row 7: ", "leave one of the two datasets out"}));
  CHECK(says(pair("a.h5", "f.h5"), {"f.h5: context: is sparse, but ", "a.h5 has a dense one"}));
}

TEST_CASE("dataset: flipped bytes and files cut short are errors, never wrong numbers") {
  const Folder folder;
  run_python(folder, R"(
how = lambda v: dict(chunks=(1000,) + v.shape[1:], compression='gzip', shuffle=True)
for name in ('flipped', 'checksum'):
    shard(name + '.h5', usual(3000, 4), how=how)
    with h5py.File(name + '.h5') as f: info = f['context'].id.get_chunk_info_by_coord((1000, 0))
    at = info.byte_offset + (info.size // 2 if name == 'flipped' else info.size - 1)
    with open(name + '.h5', 'r+b') as f: f.seek(at); b = f.read(1)[0]; f.seek(at); f.write(bytes([b ^ 0x55]))
with h5py.File('short_chunk.h5', 'w') as f:
    attrs(f)
    for k, v in usual(2000, 4).items(): f.create_dataset(k, data=v, **how(v))
    import zlib
    f['loss'].id.write_direct_chunk((0,), zlib.compress(b'\0' * 100))
shard('whole.h5', usual(30000, 4)); shard('chunked.h5', usual(30000, 4), how=lambda v: dict(chunks=(1000,) + v.shape[1:]))
for name in ('whole', 'chunked'):
    b = open(name + '.h5', 'rb').read(); open(name + '_cut.h5', 'wb').write(b[:len(b) // 2])
    # the superblock's idea of the file's end follows the cut: HDF5 opens it, the addresses are too far
    end = b.index(struct.pack('<Q', len(b))); open(name + '_lied.h5', 'wb').write((b[:end] + struct.pack('<Q', len(b) - 70000) + b[end + 8:])[:len(b) - 70000])
)");
  for (const char* name : {"flipped.h5", "checksum.h5"}) {
    const std::string said = reading_complaint({folder / name});
    CAPTURE(said);
    CHECK(says(said, {name, ": context: ", "rows 1000 to 1999", "damaged"}));
  }
  CHECK(says(reading_complaint({folder / "short_chunk.h5"}), {"short_chunk.h5: loss: ", "rows 0 to 999", "damaged"}));
  for (const char* name : {"whole_cut.h5", "chunked_cut.h5", "whole_lied.h5", "chunked_lied.h5"}) {
    const std::string said = reading_complaint({folder / name});
    CAPTURE(said);
    CHECK(says(said, {name}));
  }
  CHECK(reading_complaint({folder / "whole.h5"}) == "no error");
  CHECK(reading_complaint({folder / "chunked.h5"}) == "no error");
}

TEST_CASE("dataset: a file cut short while it is read is an error, not a crash") {
  const Folder folder;
  run_python(folder, "shard('a.h5', usual(200000, 4))");
  Dataset data({folder / "a.h5"}, {});
  BlockBuffer buffer(data.schema());
  Audit audit;
  const auto raw = data.fetch(0, data.rows());
  CHECK(raw->decode(0, kBlockRows, buffer, audit) == kBlockRows);
  std::filesystem::resize_file(folder / "a.h5", 100'000);
  CHECK_THROWS_WITH_AS(raw->decode(190'000, kBlockRows, buffer, audit),
                       doctest::Contains("context: cannot be read to its end"), Error);
  CHECK_THROWS_WITH_AS(data.fetch(0, data.rows() + 1),
                       doctest::Contains("rows 0 to 200000 were asked for, the data set has 200000"), Error);
}

TEST_CASE("dataset: a file that is replaced or written to while it is read is an error") {
  const Folder folder;
  // More shards than stay open, so that the first ones are opened again.
  run_python(folder, R"(
os.mkdir('many')
for i in range(20): shard('many/%02d.h5' % i, usual(50))
shard('other.h5', usual(50)); shard('single.h5', usual(50))
)");
  Dataset single({folder / "single.h5"}, {});
  CHECK(single.fetch(0, 50)->rows == 50);
  std::filesystem::last_write_time(folder / "single.h5", std::filesystem::file_time_type::clock::now());
  CHECK(says(complaint([&] { single.fetch(0, 50); }), {"single.h5", "written to while it was read"}));

  Dataset many({folder / "many"}, {});
  many.fetch(0, many.rows());
  many.fetch(0, 50);
  std::filesystem::rename(folder / "other.h5", folder / "many/05.h5");
  CHECK(says(complaint([&] { many.fetch(0, many.rows()); }), {"many/05.h5", "replaced"}));
}

TEST_CASE("dataset: rows that were never written are named, whatever HDF5 would make up for them") {
  const Folder folder;
  run_python(folder, R"(
ways = dict(plain={}, gzip=dict(compression='gzip', chunks=(500,)), chunked=dict(chunks=(500,)),
            big=dict(chunks=(500,), dtype='>f8'), many=dict(chunks=(1,), shape=(2100,)))
for name, how in ways.items():
    with h5py.File(name + '.h5', 'w') as f:
        attrs(f)
        n = how.get('shape', (5000,))[0]
        d = f.create_dataset('loss', **{**dict(shape=(n,), dtype='f8', fillvalue=2.5), **how})
        if name != 'plain': d[:n // 2] = 1
        f['action'] = act(n); f['propensity'] = prop(n)
)");
  for (const char* name : {"plain.h5", "gzip.h5", "chunked.h5", "big.h5", "many.h5"}) {
    const std::string said = reading_complaint({folder / name});
    CAPTURE(said);
    CHECK(says(said, {name, ": loss: ", "never written"}));
  }
}
