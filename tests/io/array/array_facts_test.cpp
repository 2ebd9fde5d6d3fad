// labels: fast io
#include "array/array_facts.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr std::int64_t kFileBytes = 100'000;

/// Three chunks of 100 rows x 2 doubles.
ArrayFacts chunked() {
  ArrayFacts facts;
  facts.name = "context";
  facts.rank = 2;
  facts.rows = 250;
  facts.width = 2;
  facts.storage = Storage::plain_chunks;
  facts.chunk_rows = 100;
  facts.chunk_columns = 2;
  facts.located = true;
  facts.chunks = {4096, 1600, 0, 8192, 1600, 0, 16384, 1600, 0};
  return facts;
}

ArrayFacts contiguous() {
  ArrayFacts facts;
  facts.name = "loss";
  facts.rows = 1000;
  facts.storage = Storage::contiguous;
  facts.address = 2048;
  facts.stored_bytes = 8000;
  return facts;
}

std::string objection(const ArrayFacts& facts) {
  return complaint([&] { check_facts(facts, kFileBytes, {.file = "a.h5", .dataset = facts.name}); });
}

}  // namespace

TEST_CASE("array facts: all fields survive the way to another process") {
  ArrayFacts facts = chunked();
  facts.object = 77;
  facts.element = Element::u16;
  facts.elsewhere = true;
  facts.address = 5;
  facts.shuffle_filter = 0;
  facts.deflate_filter = 1;
  facts.hdf5_cache = 123;
  const std::string bytes = serialize_facts(facts);
  const ArrayFacts back = deserialize_facts(bytes, {});
  CHECK(serialize_facts(back) == bytes);
  CHECK(back.element == Element::u16);
  CHECK(back.storage == Storage::plain_chunks);
  CHECK(back.chunk(1).address == 8192);
  CHECK(back.chunks == facts.chunks);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THROWS_WITH_AS(deserialize_facts(bytes.substr(0, length), {}), doctest::Contains("the file is damaged"),
                         Error);
  }
  std::string odd = bytes;
  odd[0] = 99;  // no such element
  CHECK_THROWS_WITH_AS(deserialize_facts(odd, {}), doctest::Contains("the file is damaged"), Error);
}

TEST_CASE("array facts: what can be true of a file is accepted") {
  CHECK(objection(chunked()) == "no error");
  CHECK(objection(contiguous()) == "no error");
  ArrayFacts empty = contiguous();
  empty.rows = 0;
  empty.stored_bytes = 0;
  CHECK(objection(empty) == "no error");
  ArrayFacts constant = chunked();  // deflate makes a thousandth of zeros
  constant.storage = Storage::encoded_chunks;
  constant.filters = 1;
  constant.deflate_filter = 0;
  constant.chunks = {4096, 60, 0, 8192, 60, 0, 16384, 60, 0};
  CHECK(objection(constant) == "no error");
}

TEST_CASE("array facts: what cannot be true is named") {
  struct Case {
    std::string words;
    ArrayFacts facts;
    std::function<void(ArrayFacts&)> damage;
  };
  const std::int64_t huge = std::int64_t{1} << 60;
  const std::vector<Case> cases = {
      {"claims 1152921504606846976 rows", contiguous(), [&](ArrayFacts& f) { f.rows = huge; }},
      {"claims", contiguous(), [&](ArrayFacts& f) { f.width = huge; }},
      {"claims -1 rows", contiguous(), [](ArrayFacts& f) { f.rows = -1; }},
      {"3 dimensions", contiguous(), [](ArrayFacts& f) { f.rank = 3; }},
      {"cut short", contiguous(), [](ArrayFacts& f) { f.address = kFileBytes - 7999; }},
      {"cut short", contiguous(), [](ArrayFacts& f) { f.address = -8; }},
      {"not 999 rows", contiguous(), [](ArrayFacts& f) { f.rows = 999; }},
      {"own description", contiguous(), [](ArrayFacts& f) { f.address = 0; }},
      {"without filters", chunked(), [](ArrayFacts& f) { f.chunks[5] = 255; }},
      {"not to be shuffled", chunked(),
       [](ArrayFacts& f) { f.filters = 2, f.shuffle_filter = 0, f.deflate_filter = 1, f.chunks[5] = 1; }},
      {"chunks of 0 x 2", chunked(), [](ArrayFacts& f) { f.chunk_rows = 0; }},
      {"chunks of 100 x 0", chunked(), [](ArrayFacts& f) { f.chunk_columns = 0; }},
      {"chunks of", chunked(), [&](ArrayFacts& f) { f.chunk_rows = huge; }},
      {"where 3 belong", chunked(), [](ArrayFacts& f) { f.chunks.resize(6); }},
      {"the chunk at row 100 has 1599 bytes instead of 1600", chunked(), [](ArrayFacts& f) { f.chunks[4] = 1599; }},
      {"cut short", chunked(), [](ArrayFacts& f) { f.chunks[3] = kFileBytes - 1599; }},
      {"share the bytes", chunked(), [](ArrayFacts& f) { f.chunks[3] = 4096 + 1599; }},
      {"row 100 and others after it were never written", chunked(), [](ArrayFacts& f) { f.chunks[4] = 0; }},
  };
  for (const Case& one : cases) {
    ArrayFacts facts = one.facts;
    one.damage(facts);
    const std::string message = objection(facts);
    CAPTURE(one.words);
    CAPTURE(message);
    CHECK(holds(message, one.words));
    CHECK(holds(message, "a.h5: " + facts.name));
  }
}
