#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "scrm/experiments/method.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

#define SCRM_METHOD(name) MethodEntry name##_method();
#include "methods/methods.inc"
#undef SCRM_METHOD

namespace {

/// A deque, so that what find_method() returned stays where it is when another is registered.
std::deque<MethodEntry>& registry() {
  static std::deque<MethodEntry> entries = {
#define SCRM_METHOD(name) name##_method(),
#include "methods/methods.inc"
#undef SCRM_METHOD
  };
  return entries;
}

const MethodEntry* find(const std::string& name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&name](const MethodEntry& entry) { return entry.name == name; });
  return found != registry().end() ? &*found : nullptr;
}

}  // namespace

const std::deque<MethodEntry>& methods() {
  return registry();
}

void register_method(MethodEntry entry) {
  if (find(entry.name) != nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("there is a method \"{}\" already; give this one another name", entry.name));
  }
  registry().push_back(std::move(entry));
}

const MethodEntry& find_method(const std::string& name) {
  if (const MethodEntry* entry = find(name)) return *entry;
  std::vector<std::string> names;
  for (const MethodEntry& entry : registry()) names.push_back(entry.name);
  const std::string meant = did_you_mean(name, names, "\"");
  throw Error(ErrorKind::usage,
              fmt::format("there is no method \"{}\"; {}", name,
                          meant.empty() ? fmt::format("choose among {}", fmt::join(names, ", ")) : meant));
}

}  // namespace scrm
