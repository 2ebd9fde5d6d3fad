#include "scrm/io/file/toml_text.hpp"

#include <fmt/format.h>

namespace scrm {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string toml_float(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? ", " : "") + toml_string(text);
  return list + "]";
}

std::string toml_list(std::span<const double> values) {
  std::string list = "[";
  for (const double value : values) list += (list.size() > 1 ? ", " : "") + toml_float(value);
  return list + "]";
}

}  // namespace scrm
