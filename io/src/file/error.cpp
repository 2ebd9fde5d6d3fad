#include "scrm/io/file/error.hpp"

#include <utility>

namespace scrm {
namespace {

std::string sentence(const std::string& message, const Place& place) {
  std::string where = place.dataset;
  if (place.row) {
    if (!where.empty()) where += ", ";
    where += "row " + std::to_string(*place.row);
  }
  std::string text = place.file;
  for (const std::string& part : {where, message}) {
    if (part.empty()) continue;
    if (!text.empty()) text += ": ";
    text += part;
  }
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message, Place place)
    : std::runtime_error(sentence(message, place)), kind_(kind), place_(std::move(place)) {}

}  // namespace scrm
