#include "report/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace scrm {
namespace {

bool has_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         !(terminal != nullptr && std::string_view(terminal) == "dumb");
}

struct CodePoints {
  char32_t first, last;

  bool hold(char32_t code) const noexcept { return first <= code && code <= last; }
};
/// What terminals draw upon the letter before, and what they draw two columns wide: the large blocks of both, by
/// Unicode's EastAsianWidth and combining classes. The C library knows them in some locales alone.
constexpr CodePoints kCombining[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr CodePoints kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                                {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

std::size_t columns_of(char32_t code) {
  const auto holds = [code](const CodePoints& range) { return range.hold(code); };
  if (std::any_of(std::begin(kCombining), std::end(kCombining), holds)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), holds) ? 2 : 1;
}

/// Columns a cell takes on screen, whatever bytes its letters have; escape codes take none.
std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    const int more = byte >= 0xF0U ? 3 : byte >= 0xE0U ? 2 : byte >= 0xC0U ? 1 : 0;
    char32_t code = more == 0 ? byte : byte & (0x3FU >> more);
    for (int b = 0; b < more && i + 1 < text.size(); ++b)
      code = (code << 6U) | (static_cast<unsigned char>(text[++i]) & 0x3FU);
    width += columns_of(code);
  }
  return width;
}

/// 1234567 -> "1.23 M".
std::string short_count(double number) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (number >= 1000 && unit + 1 < kUnits.size()) {
    number /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}{}", number, kUnits[unit]);
}

/// Draws itself on one line of stderr and leaves that line empty when it goes.
class Bar {
 public:
  Bar(std::string label, std::string unit) : label_(std::move(label)), unit_(std::move(unit)) {}
  ~Bar() { erase(); }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void update(std::int64_t done, std::int64_t total) {
    const Clock::time_point now = Clock::now();
    if (done >= total) {
      erase();
    } else if (now - last_ >= std::chrono::milliseconds(100)) {
      last_ = now;
      draw(static_cast<double>(done), static_cast<double>(total), std::chrono::duration<double>(now - start_).count());
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void draw(double done, double total, double seconds) {
    const double share = std::clamp(done / total, 0.0, 1.0);
    const double rate = seconds > 0 ? done / seconds : 0;
    std::string right = fmt::format(" {:3.0f} %", 100 * share);
    const int columns = terminal_columns() - static_cast<int>(shown_width(label_)) - 2;
    if (rate > 0 && columns > 40) {  // a line that wraps cannot be redrawn in place
      if (!unit_.empty()) right += fmt::format("  {} {}/s", short_count(rate), unit_);
      right += fmt::format("  {} left", human_seconds((total - done) / rate));
    }
    const int room = columns - static_cast<int>(right.size());
    const int width = std::min(room, 40);
    std::string bar;
    if (width >= 10) {
      const int filled = static_cast<int>(share * width);
      for (int i = 0; i < width; ++i) bar += i < filled ? "━" : "─";
      bar = " " + bar;
    }
    write_stderr("\r\033[K" + label_ + bar + right);
    drawn_ = true;
  }

  void erase() {
    if (drawn_) write_stderr("\r\033[K");
    drawn_ = false;
  }

  std::string label_;
  std::string unit_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;  // so that work of less than a tenth of a second shows nothing
  bool drawn_ = false;
};

/// Bytes of the UTF-8 sequence that the text begins with; 0 when it begins with none, or with a control character.
std::size_t shown_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return (first >= 0x20 && first != 0x7F) || first == '\n' ? 1 : 0;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  // U+0080 to U+009F are controls too, and some bytes spell no character: longer than needed, surrogates, too large.
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xC2 && second < 0xA0) || (first == 0xE0 && second < 0xA0) ||
                     (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
                     (first == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = shown_bytes(text);
    if (bytes == 0) {
      out += text.front() == '\t' ? " " : fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return out;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

namespace {

constexpr std::string_view kClearLine = "\r\033[K";
// A signal handler asks: it has nothing else to ask.
std::atomic<bool> line_is_open = false;

}  // namespace

void write_stderr(const std::string& text) {
  line_is_open.store(!text.ends_with('\n') && text != kClearLine, std::memory_order_relaxed);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void clear_open_line() noexcept {
  if (line_is_open.load(std::memory_order_relaxed))
    static_cast<void>(!::write(STDERR_FILENO, kClearLine.data(), kClearLine.size()));
}

bool stdout_has_colour() {
  return has_colour(STDOUT_FILENO);
}
bool stderr_has_colour() {
  return has_colour(STDERR_FILENO);
}

std::string styled(std::string_view text, Style style) {
  constexpr std::array kCodes = {"", "1", "2", "32", "33", "31"};
  if (style == Style::plain || !stdout_has_colour()) return printable(text);
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(style)], printable(text));
}

std::string with_commas(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first_digit = number < 0 ? 1 : 0;
  for (std::size_t place = digits.size(); place > first_digit + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

std::string percent(double share) {
  return share > 0 && share < 0.001 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * share);
}

std::string counted(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", with_commas(count), one, count == 1 ? "" : "s");
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string human_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e7 || size < 1e-4) return fmt::format("{:.3e}", value);
  if (value == std::round(value) || size >= 1e5) return with_commas(std::llround(value));
  if (size >= 1000) {
    const std::int64_t tenths = std::llround(value * 10);
    return fmt::format("{}.{}", with_commas(tenths / 10), std::abs(tenths % 10));
  }
  return size >= 1 ? fmt::format("{:.{}f}", value,
                                 size >= 100  ? 2
                                 : size >= 10 ? 3
                                              : 4)
                   : fmt::format("{:#.4g}", value);
}

Table::Table(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  align_.resize(header_.size(), Align::left);
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(header_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(int indent) const {
  std::vector<std::size_t> widths;
  for (const std::string& cell : header_) widths.push_back(shown_width(cell));
  for (const auto& row : rows_) {
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], shown_width(row[j]));
  }

  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells, bool is_header) {
    std::string line(static_cast<std::size_t>(std::max(indent, 0)), ' ');
    for (std::size_t j = 0; j < cells.size(); ++j) {
      const std::string padding(widths[j] - shown_width(cells[j]), ' ');
      const std::string cell = is_header ? styled(cells[j], Style::strong) : cells[j];
      if (j > 0) line += "  ";
      line += align_[j] == Align::right ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  const bool titled = std::any_of(header_.begin(), header_.end(), [](const auto& cell) { return !cell.empty(); });
  if (titled) add_line(header_, true);
  for (const auto& row : rows_) add_line(row, false);
  return text;
}

Progress progress_bar(const std::string& label, bool quiet, const std::string& unit) {
  if (quiet || isatty(STDERR_FILENO) != 1) return {};
  return
      [bar = std::make_shared<Bar>(label, unit)](std::int64_t done, std::int64_t total) { bar->update(done, total); };
}

void print_warning(const std::string& text, bool quiet) {
  if (quiet) return;
  if (isatty(STDERR_FILENO) == 1) write_stderr("\r\033[K");
  write_stderr(stderr_has_colour() ? fmt::format("\033[33mwarning:\033[0m {}\n", printable(text))
                                   : fmt::format("warning: {}\n", printable(text)));
}

}  // namespace scrm
