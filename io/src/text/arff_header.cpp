#include "text/arff_header.hpp"

#include <fmt/format.h>

#include <cmath>

#include "file/text.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/kernels/vector/ignore_case.hpp"

namespace scrm {
namespace {

class HeaderParser {
 public:
  HeaderParser(TextFile& file, bool texts) : file_(file), texts_(texts) {}

  std::vector<ArffAttribute> parse() {
    while (file_.next()) {
      std::string_view rest = trimmed(file_.line());
      if (rest.empty() || rest.front() == '%') continue;
      const std::string keyword = word(rest, "{");
      if (equal_ignoring_case(keyword, "@data")) return finish();
      if (equal_ignoring_case(keyword, "@relation")) continue;
      if (!equal_ignoring_case(keyword, "@attribute"))
        file_.fail(fmt::format("'{}' is not @relation, @attribute or @data", excerpt(keyword)));
      add_attribute(rest);
    }
    file_.fail_file(file_.number() == 0 ? "is empty; an ARFF file declares its attributes and then has a line @data"
                                        : "has no line @data; is this an ARFF file, and is it whole?");
  }

 private:
  std::string word(std::string_view& rest, std::string_view ends) const {
    std::string text;
    if (!take_word(rest, ends, text)) file_.fail(fmt::format("a quote is not closed: {}", excerpt(rest)));
    return text;
  }

  void add_attribute(std::string_view rest) {
    ArffAttribute attribute;
    attribute.name = word(rest, "{");
    if (attribute.name.empty()) file_.fail("this attribute has no name");
    rest = trimmed(rest);
    if (!rest.empty() && rest.front() == '{') {
      rest.remove_prefix(1);
      read_values(rest, attribute);
    } else {
      check_type(word(rest, "{%"), attribute.name);
    }
    rest = trimmed(rest);
    if (!rest.empty() && rest.front() != '%')
      file_.fail(fmt::format("'{}' follows the type of attribute '{}'; a name with blanks must be quoted",
                             excerpt(rest), attribute.name));
    attributes_.push_back(std::move(attribute));
  }

  void check_type(const std::string& type, const std::string& name) const {
    for (const char* known : {"numeric", "real", "integer"}) {
      if (equal_ignoring_case(type, known)) return;
    }
    if (type.empty()) file_.fail(fmt::format("attribute '{}' has no type; write numeric or {{0,1}}", name));
    file_.fail(
        fmt::format("attribute '{}' is of type '{}'; only numeric, real, integer and nominal attributes whose values "
                    "are numbers can be read: remove it or turn it into numbers",
                    name, excerpt(type)));
  }

  void read_values(std::string_view& rest, ArffAttribute& attribute) const {
    bool numbers = true;
    for (;;) {
      const std::string text = word(rest, ",}");
      const std::optional<double> value = parse_double(text);
      numbers = numbers && value && std::isfinite(*value);
      if (!numbers && !texts_)
        file_.fail(fmt::format("attribute '{}' may be '{}', which is not a number; turn it into attributes {{0,1}}",
                               attribute.name, excerpt(text)));
      attribute.levels.push_back(text);
      if (numbers) attribute.values.push_back(*value);
      rest = trimmed(rest);
      if (rest.empty()) file_.fail(fmt::format("the values of attribute '{}' do not end in }}", attribute.name));
      const char next = rest.front();
      if (next != ',' && next != '}')
        file_.fail(fmt::format("a comma is missing between the values of attribute '{}'", attribute.name));
      rest.remove_prefix(1);
      if (next == '}') break;
    }
    if (!numbers) attribute.values.clear();
  }

  std::vector<ArffAttribute> finish() {
    if (attributes_.empty()) file_.fail("no attribute was declared before @data");
    return std::move(attributes_);
  }

  TextFile& file_;
  bool texts_;
  std::vector<ArffAttribute> attributes_;
};

}  // namespace

bool take_word(std::string_view& text, std::string_view ends, std::string& word) {
  word.clear();
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (text.empty()) return true;
  const char quote = text.front();
  if (quote != '\'' && quote != '"') {
    std::size_t size = 0;
    while (size < text.size() && !is_blank(text[size]) && ends.find(text[size]) == std::string_view::npos) ++size;
    word = text.substr(0, size);
    text.remove_prefix(size);
    return true;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    word += text[i];
  }
  return false;
}

std::vector<ArffAttribute> read_arff_header(TextFile& file, bool texts) {
  return HeaderParser(file, texts).parse();
}

}  // namespace scrm
