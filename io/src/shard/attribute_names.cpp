#include "shard/attribute_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

/// Names in one text with line breaks between them, or where it has none with commas.
std::vector<std::string> split(const std::string& text) {
  const char separator = text.find('\n') != std::string::npos ? '\n' : ',';
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == separator) {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> attribute_names(const Hdf5File& file, const std::string& attribute, std::int64_t count,
                                         const char* thing) {
  const std::string place = "attribute " + attribute;
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::data, message, {.file = *file.path(), .dataset = place});
  };
  AttributeValue value = file.attribute("/", attribute);
  if (!value.exists) return {};
  if (value.texts.size() == 1 && count != 1) {
    value.texts = split(value.texts.front());
    value.count = static_cast<std::int64_t>(value.texts.size());
    // Files of the first version say here how their columns were chosen, which may be a pattern and no list of names.
    if (value.count != count) return {};
  }
  if (value.texts.empty() && count > 0) fail("must be a list of names");
  // There is always an action to name.
  if (value.count > 0 && count == 0)
    fail(fmt::format("has {}, but there is no context", count_of(value.count, "name")));
  if (value.count != count) fail(fmt::format("has {} for {}", count_of(value.count, "name"), count_of(count, thing)));
  std::vector<std::string> sorted = value.texts;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) fail(fmt::format("has the name '{}' twice", *twice));
  return value.texts;
}

}  // namespace scrm
