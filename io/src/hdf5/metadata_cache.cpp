#include "hdf5/metadata_cache.hpp"

#include "file/fields.hpp"

namespace scrm {
namespace {

// Another form of queries or answers needs another number here.
constexpr std::int64_t kEdition = 1;
// Of a note: it is read whole before anything else is.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

bool is_kept(Hdf5Query query) noexcept {
  switch (query) {
    case Hdf5Query::attribute:
    case Hdf5Query::attribute_names:
    case Hdf5Query::object:
    case Hdf5Query::members:
    case Hdf5Query::array:
      return true;
    default:
      return false;
  }
}

/// Of the query alone, whatever the file is called by now.
std::string key_of(const Hdf5Request& request) {
  FieldWriter writer;
  writer.field(static_cast<std::int64_t>(request.query));
  writer.field(request.object);
  writer.field(request.name);
  return std::move(writer.bytes);
}

}  // namespace

void MetadataCache::add(const Hdf5Request& request, const std::string& answer) {
  if (is_kept(request.query)) answers_.emplace(key_of(request), answer);
}

std::optional<std::string> MetadataCache::find(const Hdf5Request& request) const {
  if (!is_kept(request.query)) return std::nullopt;
  const auto found = answers_.find(key_of(request));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

std::string MetadataCache::note() const {
  if (answers_.empty()) return "";
  FieldWriter writer;
  writer.field(kEdition);
  writer.field(answers_);
  return writer.bytes.size() > kMostBytes ? "" : std::move(writer.bytes);
}

MetadataCache MetadataCache::of_note(std::string_view note) {
  MetadataCache cache;
  std::int64_t edition = 0;
  FieldReader reader(note);
  reader.field(edition);
  if (edition == kEdition) reader.field(cache.answers_);
  return reader.good() ? cache : MetadataCache();
}

}  // namespace scrm
