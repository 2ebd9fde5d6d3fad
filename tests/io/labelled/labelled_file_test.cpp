// labels: fast io
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/labelled_file.hpp"
#include "scrm/io/labelled/labelled_import.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/rows/h5py_shards.hpp"

namespace {

using scrm::LabelledData;
using namespace scrm::testing;

LabelledData make(std::int64_t rows, std::int64_t features, int labels, bool sparse, bool named = true) {
  std::mt19937_64 random(7);
  LabelledData data;
  data.name = "made up";
  data.rows = rows;
  data.features = features;
  data.labels = labels;
  data.sparse = sparse;
  if (sparse) data.indptr.push_back(0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < features; ++j) {
      // Never zero: entries that are zero are left out of sparse data.
      const double value = static_cast<double>(random() % 2000) / 7 - 100.5;
      if (!sparse) data.context.push_back(value);
      if (!sparse || random() % 4 != 0) continue;
      data.indices.push_back(static_cast<std::int32_t>(j));
      data.values.push_back(value);
    }
    if (sparse) data.indptr.push_back(static_cast<std::int64_t>(data.indices.size()));
    for (int k = 0; k < labels; ++k) data.label.push_back(static_cast<std::uint8_t>(random() % 2));
  }
  for (int k = 0; named && k < labels; ++k) data.label_names.push_back("l\xC3\xA9 " + std::to_string(k));
  return data;
}

void check_same(const LabelledData& a, const LabelledData& b) {
  CHECK(a.name == b.name);
  CHECK(a.rows == b.rows);
  CHECK(a.features == b.features);
  CHECK(a.labels == b.labels);
  CHECK(a.sparse == b.sparse);
  CHECK(a.context == b.context);
  CHECK(a.indptr == b.indptr);
  CHECK(a.indices == b.indices);
  CHECK(a.values == b.values);
  CHECK(a.label == b.label);
  CHECK(a.multiclass == b.multiclass);
  CHECK(a.category == b.category);
  CHECK(a.label_names == b.label_names);
}

std::string reading(const std::string& path) {
  return complaint([&] { scrm::read_labelled(path); });
}

}  // namespace

TEST_CASE("labelled file: every shape comes back as it was written") {
  const Folder folder;
  for (const bool sparse : {false, true}) {
    for (const bool gzip : {false, true}) {
      for (const std::int64_t rows : {0, 1, 2, 1000}) {
        for (const std::int64_t features : {0, 1, 13}) {
          for (const int labels : {1, 64}) {
            CAPTURE(sparse);
            CAPTURE(rows);
            CAPTURE(features);
            const LabelledData data = make(rows, features, labels, sparse, labels == 64);
            scrm::write_labelled(folder / "d.h5", data, gzip);
            check_same(scrm::read_labelled(folder / "d.h5"), data);
          }
        }
      }
    }
  }
  CHECK(scrm::is_labelled(folder / "d.h5"));
  check_same(scrm::read_any_labelled({folder / "d.h5"}), scrm::read_labelled(folder / "d.h5"));
}

TEST_CASE("labelled file: classes come back, and how many there are is told by attribute, names or numbers") {
  const Folder folder;
  for (const bool sparse : {false, true}) {
    for (const std::int64_t rows : {0, 1, 1000}) {
      LabelledData data = make(rows, 3, 64, sparse, rows == 1);
      data.multiclass = true;
      data.label.clear();
      for (std::int64_t i = 0; i < rows; ++i) data.category.push_back(static_cast<std::int32_t>(i * 7 % 60));
      scrm::write_labelled(folder / "classes.h5", data, sparse);
      check_same(scrm::read_labelled(folder / "classes.h5"), data);
    }
  }
  LabelledData wrong = make(2, 1, 2, false);
  wrong.multiclass = true;
  wrong.category = {0, 1};
  CHECK(holds(complaint([&] { scrm::write_labelled(folder / "wrong.h5", wrong); }), "one bit"));
  run_python(folder, R"(
def write(name, label, names=None, classes=None):
    with h5py.File(name, 'w') as f:
        f.attrs['format'] = 'scrm-labelled'
        f.attrs['format_version'] = 1
        f['context'] = np.zeros((3, 2))
        f['label'] = label
        if names: f['label_names'] = names
        if classes is not None: f.attrs['num_classes'] = classes
write('plain.h5', np.array([2, 0, 1], dtype=np.int64))
write('named.h5', np.array([2, 0, 1], dtype=np.uint8), names=['a', 'b', 'c', 'd'])
write('real.h5', np.array([2.0, 0, 1]))
write('negative.h5', np.array([2, -1, 1]))
write('beyond.h5', np.array([2, 0, 1]), classes=2)
write('none.h5', np.array([2, 0, 1]), classes=0)
)");
  CHECK(scrm::read_labelled(folder / "plain.h5").labels == 3);
  CHECK(scrm::read_labelled(folder / "plain.h5").category == std::vector<std::int32_t>{2, 0, 1});
  CHECK(scrm::read_labelled(folder / "named.h5").labels == 4);
  CHECK(holds(reading(folder / "real.h5"), "integers"));
  CHECK(holds(reading(folder / "negative.h5"), "-1 is no class"));
  CHECK(holds(reading(folder / "beyond.h5"), "from 0 to 1"));
  CHECK(holds(reading(folder / "none.h5"), "num_classes"));
}

TEST_CASE("labelled file: rows over the border of chunks and wide rows come back") {
  const Folder folder;
  for (const auto& data : {make(70001, 1, 2, false), make(5000, 2000, 3, false), make(70001, 9, 2, true)}) {
    scrm::write_labelled(folder / "d.h5", data, data.sparse);
    check_same(scrm::read_labelled(folder / "d.h5"), data);
  }
}

TEST_CASE("labelled file: the same data makes the same bytes, and nothing else is left in the folder") {
  const Folder folder;
  const LabelledData data = make(100, 3, 2, true);
  const auto bytes = [&](const char* name) {
    scrm::write_labelled(folder / name, data, true);
    std::ifstream file(folder / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(bytes("a.h5") == bytes("b.h5"));
  LabelledData torn = data;
  torn.label.pop_back();
  CHECK(holds(complaint([&] { scrm::write_labelled(folder / "c.h5", torn); }), "c.h5"));
  CHECK(holds(complaint([&] { scrm::write_labelled(folder / "no/c.h5", data); }), "no/c.h5"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("labelled file: what h5py writes is read, whatever the number types") {
  const Folder folder;
  run_python(folder, R"(
def made(name, label, context, names=None):
    with h5py.File(name, 'w') as f:
        f.attrs['format'] = 'scrm-labelled'; f.attrs['format_version'] = 1
        f['label'] = label
        if isinstance(context, tuple):
            g = f.create_group('context'); g.attrs['num_features'] = context[3]
            g['indptr'], g['indices'], g['values'] = [np.array(c) for c in context[:3]]
        elif context is not None: f.create_dataset('context', data=context, chunks=(3, 2) if len(context) > 3 else None)
        if names is not None: f['label_names'] = names
made('bool.h5', bits(10, 3, bool), ctx(10, 5, 'f4'), np.array([b'a', b'bc', b'd']))
made('int.h5', bits(10, 3, '>i8'), ctx(10, 5, '>f8'), ['a', 'bc', 'd'])
made('none.h5', bits(10, 3), None)
made('unsorted.h5', bits(2, 1), ([0, 3, 3], [4, 0, 2], [1., 0, 3], 5))
)");
  for (const char* name : {"bool.h5", "int.h5", "none.h5"}) {
    CAPTURE(name);
    const LabelledData data = scrm::read_labelled(folder / name);
    CHECK(data.rows == 10);
    CHECK(data.labels == 3);
    for (std::size_t i = 0; i < 10; ++i) {
      for (std::size_t k = 0; k < 3; ++k)
        CHECK(data.label[i * 3 + k] == scrm::testing::bit_value(static_cast<std::int64_t>(i), static_cast<int>(k)));
      for (std::size_t j = 0; j < static_cast<std::size_t>(data.features); ++j)
        CHECK(data.context[i * 5 + j] ==
              scrm::testing::context_value(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
    }
    const bool named = std::string(name) != "none.h5";
    CHECK(data.features == (named ? 5 : 0));
    CHECK(data.label_names == (named ? std::vector<std::string>{"a", "bc", "d"} : std::vector<std::string>{}));
  }
  const LabelledData sparse = scrm::read_labelled(folder / "unsorted.h5");
  CHECK(sparse.indptr == std::vector<std::int64_t>{0, 2, 2});
  CHECK(sparse.indices == std::vector<std::int32_t>{2, 4});
  CHECK(sparse.values == std::vector<double>{3, 1});
}

TEST_CASE(
    "labelled file: one that is written over under the same name is read anew, by HDF5 here and in its own process") {
  const Folder folder;
  // Both writers leave the inode what it was.
  const auto write_over = [&](const std::string& from) {
    std::ofstream(folder / "d.h5", std::ios::binary) << std::ifstream(folder / from, std::ios::binary).rdbuf();
  };
  const LabelledData first = make(1000, 13, 64, false), second = make(40, 2, 3, false);
  scrm::write_labelled(folder / "first.h5", first, true);
  scrm::write_labelled(folder / "second.h5", second, false);
  run_python(folder, R"(
with h5py.File('foreign.h5', 'w') as f:
    f.attrs['format'] = 'scrm-labelled'; f.attrs['format_version'] = 1
    f['label'] = np.ones((7, 5), 'u1'); f['context'] = np.arange(14.).reshape(7, 2)
)");
  for (int round = 0; round < 2; ++round) {
    write_over("first.h5");
    check_same(scrm::read_labelled(folder / "d.h5"), first);
    write_over("second.h5");
    check_same(scrm::read_labelled(folder / "d.h5"), second);
    write_over("foreign.h5");
    const LabelledData foreign = scrm::read_labelled(folder / "d.h5");
    CHECK(foreign.label == std::vector<std::uint8_t>(35, 1));
    CHECK(foreign.context[13] == 13);
  }
}

TEST_CASE("labelled file: foreign, damaged and mismatched files are named with what is wrong") {
  const Folder folder;
  run_python(folder, R"(
def made(name, edit, sparse=False):
    with h5py.File(name + '.h5', 'w') as f:
        f.attrs['format'] = 'scrm-labelled'; f.attrs['format_version'] = 1
        f['label'] = bits(10, 3)
        if sparse:
            g = f.create_group('context'); g.attrs['num_features'] = 4
            g['indptr'] = np.arange(11); g['indices'] = np.arange(10) % 4; g['values'] = np.ones(10)
        else: f['context'] = ctx(10, 2)
        edit(f)
def put(name, value):
    def edit(f):
        del f[name]; f[name] = value
    return edit
def at(name, index, value):
    def edit(f): f[name][index] = value
    return edit
def attr(name, value): return lambda f: f.attrs.__setitem__(name, value)
made('good', lambda f: None); made('good_sparse', lambda f: None, True)
made('foreign', attr('format', 'other')); made('no_format', lambda f: f.attrs.__delitem__('format'))
made('future', attr('format_version', 2)); made('no_version', lambda f: f.attrs.__delitem__('format_version'))
made('no_label', lambda f: f.__delitem__('label')); made('flat_label', put('label', cat(10, 2, 'f8')))
made('no_columns', put('label', np.zeros((10, 0)))); made('text_label', put('label', np.array([[b'a']] * 10)))
made('two', at('label', (7, 1), 2)); made('half', put('label', np.full((10, 3), .5)))
made('nan', at('context', (4, 1), np.nan)); made('inf', at('context', (5, 0), np.inf))
made('short', put('context', ctx(9, 2))); made('flat', put('context', loss(10)))
made('names', lambda f: f.create_dataset('label_names', data=['a', 'b']))
made('number_names', lambda f: f.create_dataset('label_names', data=[1, 2, 3]))
made('group_label', lambda f: (f.__delitem__('label'), f.create_group('label')))
made('huge', lambda f: (f.__delitem__('label'), f.create_dataset('label', (2**50, 3), 'u1', chunks=(1024, 3))))
made('s_index', at('context/indices', 6, 4), True); made('s_negative', at('context/indices', 6, -1), True)
made('s_nan', at('context/values', 8, np.nan), True); made('s_falls', at('context/indptr', 3, 9), True)
made('s_short', put('context/indptr', np.arange(10)), True); made('s_uneven', put('context/values', np.ones(9)), True)
made('s_end', put('context/indptr', np.array([0] * 11)), True); made('s_real', put('context/indices', np.ones(10)), True)
made('s_twice', put('context/indptr', np.array([0, 5] + [10] * 9)), True)
made('s_features', lambda f: f['context'].attrs.__delitem__('num_features'), True)
made('s_missing', lambda f: f.__delitem__('context/values'), True)
shard('log.h5', usual(5))
open('text.h5', 'w').write('hello\n' * 99); open('empty.h5', 'w').close()
whole = open('good.h5', 'rb').read(); open('cut.h5', 'wb').write(whole[:len(whole) * 2 // 3])
)");
  CHECK(reading(folder / "good.h5") == "no error");
  CHECK(reading(folder / "good_sparse.h5") == "no error");
  const std::vector<std::vector<std::string>> cases = {{"foreign", "attribute format", "\"other\""},
                                                       {"no_format", "no attribute format"},
                                                       {"future", "format_version", "is 2"},
                                                       {"no_version", "format_version"},
                                                       {"no_label", ": label: there is no such dataset"},
                                                       {"flat_label", ": label: holds real numbers"},
                                                       {"no_columns", ": label: must have two dimensions"},
                                                       {"text_label", ": label: holds strings"},
                                                       {"group_label", ": label: is not a dataset"},
                                                       {"huge", ": label: claims", "1125899906842624 rows"},
                                                       {"two", "label[:, 1], row 7: 2 is neither 0 nor 1"},
                                                       {"half", "label[:, 0], row 0: 0.5 is neither 0 nor 1"},
                                                       {"nan", "context[:, 1], row 4: nan is not finite"},
                                                       {"inf", "context[:, 0], row 5: inf is not finite"},
                                                       {"short", ": context: has 9 rows, but label has 10"},
                                                       {"flat", ": context: must have two dimensions"},
                                                       {"names", ": label_names: has 2 names for 3 labels"},
                                                       {"number_names", ": label_names: must hold text"},
                                                       {"s_index", "context/indices, row 6: feature 4"},
                                                       {"s_negative", "context/indices, row 6: feature -1"},
                                                       {"s_nan", "context/values, row 8: nan"},
                                                       {"s_falls", "context/indptr, row 4: 4 is less than 9"},
                                                       {"s_short", ": context/indptr: has 10 values"},
                                                       {"s_uneven", ": context/indices: has 10 entries"},
                                                       {"s_end", "context/indptr", "ends at 0"},
                                                       {"s_real", ": context/indices: holds real numbers"},
                                                       {"s_twice", "context/indices, row 0: feature 0 is given twice"},
                                                       {"s_features", ": context: has no attribute num_features"},
                                                       {"s_missing", ": context/values: there is no such dataset"},
                                                       {"log", "holds logs"},
                                                       {"text", "is not an HDF5 file"},
                                                       {"empty", "is empty"},
                                                       {"cut", "cut short"},
                                                       {"missing", "missing.h5"}};
  for (const auto& parts : cases) {
    const std::string file = folder / (parts[0] + ".h5");
    const std::string message = reading(file);
    CAPTURE(message);
    CHECK(holds(message, file + ": "));
    for (std::size_t i = 1; i < parts.size(); ++i) CHECK(holds(message, parts[i]));
  }
  CHECK_FALSE(scrm::is_labelled(folder / "log.h5"));
  CHECK_FALSE(scrm::is_labelled(folder / "text.h5"));
  CHECK_FALSE(scrm::is_labelled(folder / "missing.h5"));
  CHECK_FALSE(scrm::is_labelled(folder.path.string()));
  const std::string as_log = complaint([&] { scrm::Dataset({folder / "good.h5"}, {}); });
  CHECK(holds(as_log, "labelled data set, not logs"));
  CHECK(holds(as_log, "scrm sweep"));
}
