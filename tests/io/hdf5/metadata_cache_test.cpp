// labels: fast io
#include "hdf5/metadata_cache.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "hdf5/seal.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

void write_shard(const std::string& path, const Schema& schema, const WriteOptions& options, int rows) {
  ShardWriter writer(path, schema, options);
  BlockBuffer buffer(schema);
  for (int i = 0; i < rows; ++i) buffer.propensity()[i] = 0.5;
  writer.append(buffer.view(0, rows));
  writer.commit();
}

FileIdentity identity_at(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return identity_of(status);
}

Hdf5Request request(const std::string& path, Hdf5Query query, const std::string& object, const std::string& name = "") {
  return {query, path, identity_at(path), object, name, 0, 0};
}

/// What a reader of any shard asks first.
std::vector<Hdf5Request> usual_requests(const std::string& path, const std::vector<std::string>& datasets,
                                        bool logged) {
  std::vector<Hdf5Request> all = {request(path, Hdf5Query::object, "/")};
  for (const char* name : {"format", "format_version", "outcome", "context_columns"})
    all.push_back(request(path, Hdf5Query::attribute, "/", name));
  if (logged) all.push_back(request(path, Hdf5Query::attribute, "/", "action_kind"));
  for (const std::string& name : datasets) {
    all.push_back(request(path, Hdf5Query::object, name));
    all.push_back(request(path, Hdf5Query::array, name));
  }
  return all;
}

void check_sheet(const std::string& path, const std::vector<std::string>& datasets, bool logged = true) {
  const Seal seal = read_seal(Descriptor(path, O_RDONLY));
  REQUIRE(seal.status == SealStatus::valid);
  const MetadataCache cache = MetadataCache::of_note(seal.note);
  Hdf5Service hdf5;
  for (const Hdf5Request& one : usual_requests(path, datasets, logged)) {
    CAPTURE(one.object);
    CAPTURE(one.name);
    const auto kept = cache.find(one);
    REQUIRE(kept.has_value());
    CHECK(*kept == hdf5.answer(one));
  }
}

TEST_CASE("a shard's seal has the answers that HDF5 gives about the finished file") {
  const Folder folder;
  const std::string path = folder / "shard.h5";
  Schema schema;
  schema.features = 3;
  schema.targets = {"other"};
  schema.cluster = true;
  WriteOptions options;
  options.chunk_rows = 256;
  for (const bool gzip : {false, true}) {
    options.gzip = gzip;
    for (const int rows : {0, 1, 700}) {
      CAPTURE(gzip);
      CAPTURE(rows);
      write_shard(path, schema, options, rows);
      check_sheet(path, {"context", "action", "loss", "propensity", "target/other", "cluster"});
    }
  }
}

TEST_CASE("sparse contexts are answered for too") {
  const Folder folder;
  const std::string path = folder / "shard.h5";
  Schema schema;
  schema.features = 3;
  schema.sparse = true;
  write_shard(path, schema, {}, 700);
  check_sheet(path, {"context/indptr", "context/indices", "context/values", "action", "loss"});
}

TEST_CASE("of rows without losses the contexts are answered for") {
  const Folder folder;
  const std::string path = folder / "shard.h5";
  Schema schema;
  schema.stage = RowStage::acted;
  schema.features = 2;
  write_shard(path, schema, {}, 10);
  check_sheet(path, {"context"}, false);
}

TEST_CASE("a note is read back as it was, and another one says nothing") {
  MetadataCache cache;
  CHECK(cache.note().empty());
  const Hdf5Request known{Hdf5Query::attribute, "a", {}, "/", "format"};
  const Hdf5Request rows{Hdf5Query::rows, "a", {}, "loss", ""};
  cache.add(known, std::string("text\0more", 9));
  cache.add(rows, "numbers");
  const std::string note = cache.note();
  const MetadataCache again = MetadataCache::of_note(note);
  Hdf5Request elsewhere = known;
  elsewhere.path = "b";
  CHECK(again.find(elsewhere) == std::string("text\0more", 9));
  elsewhere.object = "context";
  CHECK_FALSE(again.find(elsewhere).has_value());
  CHECK_FALSE(again.find(rows).has_value());
  for (const std::string& other : {std::string(), note + "x", note.substr(0, note.size() - 1), "\2" + note.substr(1)})
    CHECK_FALSE(MetadataCache::of_note(other).find(known).has_value());
}

TEST_CASE("what would be too long to read before anything else is left out") {
  MetadataCache cache;
  cache.add({Hdf5Query::array, "a", {}, "loss", ""}, std::string((1 << 20) + 1, 'x'));
  CHECK(cache.note().empty());
}

}  // namespace
