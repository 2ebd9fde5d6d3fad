#include <fmt/format.h>

#include <algorithm>

#include "scrm/io/file/numbers.hpp"
#include "scrm/io/labelled/arff.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

// A hundred thousand names; and no pipe without an end.
constexpr std::size_t kMostText = std::size_t{8} << 20;

bool is_space(char c) {
  return is_blank(c) || c == '\n' || c == '\r';
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// What "&name;" stands for; false when it is nothing XML knows by itself.
bool append_entity(std::string_view name, std::string& out) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, letter] : kNamed) {
    if (name != known) continue;
    out += letter;
    return true;
  }
  if (name.size() < 2 || name.front() != '#') return false;
  const bool hexadecimal = name[1] == 'x';
  name.remove_prefix(hexadecimal ? 2 : 1);
  const std::int64_t code = parse_integer(name, hexadecimal ? 16 : 10).value_or(0);
  if (code < 1 || code > 0x10FFFF) return false;
  append_utf8(static_cast<std::uint32_t>(code), out);
  return true;
}

/// The label tags of a document, which is all that is needed of XML here.
class LabelTags {
 public:
  explicit LabelTags(const TextFile& file) : file_(file), text_(file.text()) {}

  std::vector<std::string> names() {
    std::vector<std::string> found;
    while ((at_ = std::min(text_.find('<', at_), text_.size())) != text_.size()) {
      if (text_.substr(at_, 4) == "<!--") {
        skip_behind("-->");
        continue;
      }
      if (begins_label()) {
        at_ += 6;
        found.push_back(name());
        if (std::find(found.begin(), found.end() - 1, found.back()) != found.end() - 1)
          fail(fmt::format("label '{}' is named twice", found.back()));
      }
      skip_behind(">");
    }
    if (found.empty()) file_.fail_file("names no label; <label name=\"...\"> is looked for");
    return found;
  }

 private:
  bool begins_label() const {
    if (text_.substr(at_, 6) != "<label" || at_ + 6 >= text_.size()) return false;
    const char next = text_[at_ + 6];
    return is_space(next) || next == '/' || next == '>';
  }

  void skip_behind(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) fail("a tag or comment does not end; is the file whole?");
    at_ = found + end.size();
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  /// Goes through the attributes of the tag up to the one called name.
  std::string name() {
    for (;;) {
      skip_spaces();
      const std::size_t begin = at_;
      while (at_ < text_.size() && !is_space(text_[at_]) &&
             std::string_view("=/>").find(text_[at_]) == std::string_view::npos)
        ++at_;
      const std::string_view key = text_.substr(begin, at_ - begin);
      skip_spaces();
      if (key.empty() || at_ >= text_.size() || text_[at_] != '=') fail("this label has no name=\"...\"");
      ++at_;
      const std::string value = quoted();
      if (key == "name") return value;
    }
  }

  std::string quoted() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '"' || quote == '\'' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("the name of this label is not in quotes");
    std::string value;
    for (std::size_t i = at_ + 1; i < end; ++i) {
      const std::size_t semicolon = text_[i] == '&' ? text_.find(';', i) : std::string_view::npos;
      if (semicolon < end && append_entity(text_.substr(i + 1, semicolon - i - 1), value)) {
        i = semicolon;
      } else {
        value += text_[i];
      }
    }
    at_ = end + 1;
    return value;
  }

  [[noreturn]] void fail(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    file_.fail_file(fmt::format("line {}: {}", line, what));
  }

  const TextFile& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> read_label_names(const std::string& path) {
  const TextFile file(path, kMostText);
  return LabelTags(file).names();
}

}  // namespace scrm
