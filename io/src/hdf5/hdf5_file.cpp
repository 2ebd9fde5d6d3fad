#include "hdf5/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "file/fields.hpp"
#include "hdf5/guard.hpp"
#include "hdf5/metadata_scan.hpp"
#include "hdf5/seal.hpp"
#include "scrm/io/file/path_checks.hpp"

namespace scrm {
namespace {

Hdf5Service& own_service() {
  static Hdf5Service instance;
  return instance;
}

[[noreturn]] void fail(const std::string& what, Place place) {
  throw Error(ErrorKind::data, what, std::move(place));
}

FileIdentity read_identity(const Descriptor& descriptor, const std::string& path) {
  struct stat status {};
  if (!descriptor.open() || ::fstat(descriptor.get(), &status) != 0)
    throw Error(ErrorKind::file, "cannot be opened: " + reason_of(errno), {.file = path});
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::file, "is not a file", {.file = path});
  return identity_of(status);
}

/// Where the file says that it ends, at most its size. Only of superblocks without a checksum: HDF5 checks the others.
/// An Error when it claims to begin elsewhere than it does, which would shift every address.
std::int64_t claimed_end(const Descriptor& descriptor, std::int64_t size, const std::string& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t kAddress = sizeof(std::uint64_t);
  char bytes[64] = {};
  for (std::int64_t at = 0; at < size; at = std::max<std::int64_t>(512, 2 * at)) {
    if (read_at(descriptor, bytes, sizeof bytes, at) != static_cast<ssize_t>(sizeof bytes)) return size;
    const std::string_view block(bytes, sizeof bytes);
    if (!block.starts_with(kSignature)) continue;
    const int version = static_cast<unsigned char>(block[8]);
    if (version > 1 || static_cast<unsigned char>(block[13]) != kAddress) return size;
    const std::size_t base_at = version == 0 ? 24 : 28;
    const std::uint64_t base = get_u64(block.substr(base_at));
    const std::uint64_t length = get_u64(block.substr(base_at + 2 * kAddress));
    if (base != static_cast<std::uint64_t>(at))
      fail("claims to begin at byte " + std::to_string(base) + ", where it does not: the file is damaged", {path});
    return length < static_cast<std::uint64_t>(size - at) ? at + static_cast<std::int64_t>(length) : size;
  }
  return size;
}

/// Not waiting for whoever should write into a pipe of this name.
std::shared_ptr<const Descriptor> open_descriptor(const std::string& path) {
  return std::make_shared<const Descriptor>(path, O_RDONLY | O_NONBLOCK);
}

}  // namespace

Hdf5File::Hdf5File(const std::string& path, std::shared_ptr<BufferPool> pool)
    : path_(std::make_shared<const std::string>(path)), pool_(std::move(pool)), descriptor_(open_descriptor(path)) {
  require_file(path);
  identity_ = read_identity(*descriptor_, path);
  if (identity_.bytes == 0) fail("is empty", {.file = path});
  const Seal seal = read_seal(*descriptor_);
  if (seal.status == SealStatus::broken)
    fail("is damaged: its bytes are not those that were written; take a copy that is whole", {.file = path});
  sealed_ = seal.status == SealStatus::valid;
  if (sealed_) known_ = std::make_shared<const MetadataCache>(MetadataCache::of_note(seal.note));
  end_ = claimed_end(*descriptor_, identity_.bytes, path);
  ask(Hdf5Query::object, "/");
}

Hdf5File::Hdf5File(const std::string& path, OpenHdf5& open, MetadataCache& cache)
    : path_(std::make_shared<const std::string>(path)),
      pool_(std::make_shared<BufferPool>()),
      open_(&open),
      recorded_(&cache),
      descriptor_(open_descriptor(path)) {
  identity_ = read_identity(*descriptor_, path);
  end_ = identity_.bytes;
  ask(Hdf5Query::object, "/");
}

const std::shared_ptr<const Descriptor>& Hdf5File::descriptor() const {
  if (!descriptor_) {
    auto again = open_descriptor(*path_);
    if (read_identity(*again, *path_) != identity_) fail("was replaced or written to while it was read", {*path_});
    descriptor_ = std::move(again);
  }
  return descriptor_;
}

void Hdf5File::require_unchanged() const {
  if (read_identity(*descriptor(), *path_) != identity_) fail("was written to while it was read", {*path_});
}

std::string Hdf5File::ask(Hdf5Query query, const std::string& object, const std::string& name, std::int64_t first,
                          std::int64_t count) const {
  const Hdf5Request request{query, *path_, identity_, object, name, first, count};
  if (open_ != nullptr) {
    std::string answer = answer_about(*open_, request);
    recorded_->add(request, answer);
    return answer;
  }
  if (!sealed_) return guarded_answer(request, own_service());
  if (std::optional<std::string> answer = known_->find(request)) return *std::move(answer);
  return own_service().answer(request);
}

template <class T>
T Hdf5File::ask_for(Hdf5Query query, const std::string& object) const {
  const std::string bytes = ask(query, object);
  T value{};
  FieldReader reader(bytes);
  reader.field(value);
  if (!reader.good()) fail("HDF5 cannot say what it is: the file is damaged", {*path_, object});
  return value;
}

ObjectType Hdf5File::object_type(const std::string& name) const {
  return static_cast<ObjectType>(ask_for<std::int64_t>(Hdf5Query::object, name));
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  return ask_for<std::vector<std::string>>(Hdf5Query::members, group);
}

std::vector<std::string> Hdf5File::attribute_names(const std::string& object) const {
  return ask_for<std::vector<std::string>>(Hdf5Query::attribute_names, object);
}

AttributeValue Hdf5File::attribute(const std::string& object, const std::string& name) const {
  const std::string bytes = ask(Hdf5Query::attribute, object, name);
  AttributeValue value;
  FieldReader reader(bytes);
  AttributeValue::each_field(value, reader);
  if (!reader.good()) fail("HDF5 cannot say what it is: the file is damaged", attribute_place(object, name));
  return value;
}

Place Hdf5File::attribute_place(const std::string& object, const std::string& name) const {
  return {.file = *path_, .dataset = (object == "/" ? "" : object + " ") + "attribute " + name};
}

std::optional<std::string> Hdf5File::text_attribute(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (!value.exists) return std::nullopt;
  if (value.count != 1) fail("must hold one value", attribute_place(object, name));
  if (value.texts.size() != 1) fail("must hold text", attribute_place(object, name));
  return value.texts.front();
}

std::optional<std::int64_t> Hdf5File::integer_attribute(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (!value.exists) return std::nullopt;
  if (value.count != 1) fail("must hold one value", attribute_place(object, name));
  if (value.integers.size() == 1) return value.integers.front();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.reals.size() != 1 || !(std::abs(value.reals.front()) <= kExact) ||
      std::floor(value.reals.front()) != value.reals.front())
    fail("must be a whole number", attribute_place(object, name));
  return static_cast<std::int64_t>(value.reals.front());
}

std::shared_ptr<const ArrayFacts> Hdf5File::array(const std::string& name) const {
  std::shared_ptr<const ArrayFacts>& facts = arrays_[name];
  if (!facts) {
    const Place place{.file = *path_, .dataset = name};
    auto fresh = std::make_shared<const ArrayFacts>(deserialize_facts(ask(Hdf5Query::array, name), place));
    check_facts(*fresh, end_, place);
    facts = std::move(fresh);
  }
  return facts;
}

void Hdf5File::require_disjoint_arrays() const {
  std::map<std::int64_t, const ArrayFacts*> by_object;  // two names may lead to one dataset
  for (const auto& [name, facts] : arrays_) by_object[facts->object] = facts.get();
  std::vector<Extent> all;
  const auto size = static_cast<std::uint64_t>(identity_.bytes);
  for (const auto& [object, facts] : by_object) {
    const std::vector<Extent> extents = extents_of(*facts);
    all.insert(all.end(), extents.begin(), extents.end());
    // Nor may rows lie where a dataset describes itself.
    if (object > 0) all.push_back(header_extent(*descriptor(), static_cast<std::uint64_t>(object), size));
    // Of a sealed file every address is as it was written.
    for (std::size_t i = 0; i < extents.size() && !sealed_ && open_ == nullptr; ++i) {
      if (const auto at = find_metadata(*descriptor(), extents[i], size))
        fail("has rows where HDF5 keeps something else, at byte " + std::to_string(*at) + ": the file is damaged",
             {*path_, facts->name});
    }
  }
  if (const std::size_t i = find_overlap(all); i < all.size())
    fail("two of its datasets share the byte " + std::to_string(all[i + 1].begin) + ": the file is damaged", {*path_});
}

std::string Hdf5File::read_rows(const ArrayFacts& facts, std::int64_t first, std::int64_t rows) const {
  std::string bytes = ask(Hdf5Query::rows, facts.name, "", first, rows);
  if (bytes.size() != static_cast<std::size_t>(rows) * facts.row_bytes())
    fail("has other rows than HDF5 said: the file is damaged", {*path_, facts.name});
  return bytes;
}

std::vector<StoredChunk> Hdf5File::read_chunks(const ArrayFacts& facts, std::int64_t first, std::int64_t count) const {
  const std::string reply = ask(Hdf5Query::chunks, facts.name, "", first, count);
  std::vector<StoredChunk> chunks(static_cast<std::size_t>(count));
  std::string_view left = reply;
  constexpr std::size_t kHead = 2 * sizeof(std::uint64_t);
  for (StoredChunk& chunk : chunks) {
    const std::uint64_t length = left.size() < kHead ? 0 : get_u64(left.substr(kHead / 2));
    if (length == 0 || length > left.size() - kHead)
      fail("has other chunks than HDF5 said: the file is damaged", {*path_, facts.name});
    chunk.skipped_filters = get_u64(left);
    chunk.length = length;
    chunk.bytes = pool_->take(length);
    std::memcpy(chunk.bytes.get(), left.data() + kHead, length);
    left.remove_prefix(kHead + length);
  }
  return chunks;
}

std::vector<std::int64_t> Hdf5File::shape(const std::string& name) const {
  return ask_for<std::vector<std::int64_t>>(Hdf5Query::shape, name);
}

std::vector<std::string> Hdf5File::texts(const std::string& name) const {
  return ask_for<std::vector<std::string>>(Hdf5Query::texts, name);
}

std::vector<double> Hdf5File::numbers(const std::string& name) const {
  return ask_for<std::vector<double>>(Hdf5Query::numbers, name);
}

std::vector<std::int64_t> Hdf5File::integers(const std::string& name) const {
  return ask_for<std::vector<std::int64_t>>(Hdf5Query::integers, name);
}

std::vector<std::vector<double>> Hdf5File::lists(const std::string& name) const {
  return ask_for<std::vector<std::vector<double>>>(Hdf5Query::lists, name);
}

}  // namespace scrm
