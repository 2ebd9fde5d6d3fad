// labels: fast io
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "scrm/io/shard/dataset.hpp"
#include "support/rows/h5py_shards.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr std::int64_t kRows = 3 * kBlockRows + 500;

/// How many numbers of a block that keeps its contexts row by row are not those that were written.
template <class T>
int wrong_in_rows(const Block& block) {
  int wrong = 0;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t j = 0; j < block.features; ++j) {
      T value;
      std::memcpy(&value, block.context_by_row + static_cast<std::size_t>(i * block.features + j) * sizeof(T),
                  sizeof(T));
      wrong += value != context_value(block.first_row + i, j);
    }
  }
  return wrong;
}

/// The same of one in columns, and what does not end in zeroes.
template <class T>
int wrong_in_columns(const Block& block) {
  const T* context = static_cast<const T*>(block.context);
  int wrong = 0;
  for (std::int64_t j = 0; j < block.features; ++j) {
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      const double expected = i < block.rows ? context_value(block.first_row + i, j) : 0;
      wrong += context[j * kBlockRows + i] != expected;
    }
  }
  return wrong;
}

int wrong_numbers(const Block& block) {
  const bool f32 = block.context_type == FloatType::f32;
  if (block.context_by_row != nullptr) return f32 ? wrong_in_rows<float>(block) : wrong_in_rows<double>(block);
  return f32 ? wrong_in_columns<float>(block) : wrong_in_columns<double>(block);
}

}  // namespace

TEST_CASE("contexts by row: whole blocks of any width and layout keep their rows, a short one after them is clean") {
  const Folder folder;
  run_python(folder, R"(
n = 3 * 2048 + 500
ways = dict(plain={}, gzip=dict(compression='gzip', chunks=True), shuffled=dict(compression='gzip', shuffle=True, chunks=True))
for d in (3, 33, 65, 300):
    for t in ('f4', 'f8'):
        for name, how in ways.items():
            with h5py.File(f'{d}_{t}_{name}.h5', 'w') as f:
                attrs(f)
                f['padding'] = np.zeros(3, 'u1')  # so that numbers begin anywhere
                for k, v in usual(n, d, t).items():
                    own = dict(how, chunks=(4096,) + v.shape[1:]) if how else {}
                    f.create_dataset(k, data=v, **own)
)");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    CAPTURE(entry.path().filename().string());
    Dataset data({entry.path().string()}, {});
    REQUIRE(data.rows() == kRows);
    BlockBuffer buffer(data.schema());
    buffer.allow_in_place();
    const auto raw = data.fetch(0, kRows);
    Audit audit;
    for (std::int64_t first = 0; first < kRows; first += kBlockRows) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, kRows - first));
      REQUIRE(raw->decode(first, count, buffer, audit) == count);
      const Block block = buffer.view(first, count);
      CHECK((block.context_by_row != nullptr) == (count == kBlockRows));
      CHECK(wrong_numbers(block) == 0);
    }
    // The same buffer when nothing may be left in place any more, and when it may again.
    for (const bool allowed : {false, true}) {
      buffer.allow_in_place(allowed);
      REQUIRE(raw->decode(kBlockRows, kBlockRows, buffer, audit) == kBlockRows);
      const Block block = buffer.view(kBlockRows, kBlockRows);
      CHECK((block.context_by_row != nullptr) == allowed);
      CHECK(wrong_numbers(block) == 0);
      CHECK(block.loss[7] == loss_value(kBlockRows + 7));
    }
    CHECK(audit.bad_rows() == 0);
  }
}

TEST_CASE("contexts by row: a column that is audited beside wide ones makes their block be decoded again") {
  const Folder folder;
  run_python(folder, R"(
n = 3 * 2048 + 500
c = usual(n, 70); c['action'] = cat(n, 5, 'i4'); c['action'][2048 + 11] = 5
shard('a.h5', c, 'categorical', num_actions=5)
)");
  Dataset data({folder / "a.h5"}, {});
  BlockBuffer buffer(data.schema());
  buffer.allow_in_place();
  const auto raw = data.fetch(0, kRows);
  Audit audit;
  REQUIRE(raw->decode(0, kBlockRows, buffer, audit) == kBlockRows);
  CHECK(buffer.view(0, kBlockRows).context_by_row != nullptr);
  REQUIRE(raw->decode(kBlockRows, kBlockRows, buffer, audit) == kBlockRows - 1);
  const Block block = buffer.view(kBlockRows, kBlockRows - 1);
  REQUIRE(block.context_by_row == nullptr);
  int wrong = 0;
  for (std::int64_t j = 0; j < 70; ++j) {
    for (int i = 0; i < kBlockRows - 1; ++i) {
      const double expected = context_value(kBlockRows + i + (i >= 11 ? 1 : 0), j);
      wrong += static_cast<const double*>(block.context)[j * kBlockRows + i] != expected;
    }
  }
  CHECK(wrong == 0);
}
