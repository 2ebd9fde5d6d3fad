/// What people see: numbers in readable form, aligned tables, colour and progress on terminals only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/schedule/human_bytes.hpp"

namespace scrm {

/// True when colour may be used on stdout / stderr: a terminal, and NO_COLOR is not set.
bool stdout_has_colour();
bool stderr_has_colour();

/// Columns of the terminal that stderr is; 80 where it is none.
int terminal_columns();
/// Progress and warnings are a courtesy: a stderr that cannot be written to stops nothing.
void write_stderr(const std::string& text);
/// Clears the line of a progress bar where one stands there. May be called by a signal handler.
void clear_open_line() noexcept;

/// Text from files and command lines as a terminal may be given it: control characters other than line breaks, and
/// bytes that are no UTF-8, are shown as \x1b and never sent.
std::string printable(std::string_view text);

/// Turns every -0.0 below a JSON value into 0.0: a sign that was turned on the way says nothing about a zero.
template <class Json>
void drop_signs_of_zeros(Json& json) {
  if (json.is_number_float() && json == 0.0) json = 0.0;
  if (json.is_structured()) {
    for (Json& part : json) drop_signs_of_zeros(part);
  }
}

/// A JSON document as it is printed, in one line and without -0.0: bytes that are no UTF-8, as names of files may hold,
/// become U+FFFD.
template <class Json>
std::string json_text(Json json) {
  drop_signs_of_zeros(json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

enum class Style { plain, strong, dim, good, warning, bad };
/// The text made printable, and wrapped in escape codes where stdout has colour.
std::string styled(std::string_view text, Style style);

/// 12345678 -> "12,345,678".
std::string with_commas(std::int64_t number);
/// A count and what it counts: "1 row", "12,345 rows".
std::string counted(std::int64_t count, std::string_view one);

/// "12.3 %"; a share above zero is never shown as none.
std::string percent(double share);
/// "0.42 s", "1 min 05 s".
std::string human_seconds(double seconds);
/// A number with enough digits to read and no more: 4 to 6 significant ones.
std::string human_number(double value);

/// Columns aligned by the widest cell (escape codes and UTF-8 counted as what they show); numbers to the right.
class Table {
 public:
  enum class Align { left, right };
  explicit Table(std::vector<std::string> header, std::vector<Align> align);
  void add(std::vector<std::string> cells);
  std::string text(int indent = 0) const;

 private:
  std::vector<std::string> header_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;
};

/// A bar with rate and time left on stderr, redrawn at most ten times a second, gone when the work ends. Draws nothing
/// when stderr is no terminal. No unit: no rate.
Progress progress_bar(const std::string& label, bool quiet, const std::string& unit = "rows");

/// One line on stderr, "warning: ..." and the text made printable, yellow on a terminal, where it takes the place of a
/// progress bar; nothing when quiet.
void print_warning(const std::string& text, bool quiet);

}  // namespace scrm
