/// Pieces of SVG text: escaped words, short numbers, lines, texts, and how wide a text will be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// Text as XML and HTML take it, also between quotes. Control characters and bytes that are no UTF-8, which XML cannot
/// hold, are shown as \x1b.
std::string escaped(std::string_view text);

/// A coordinate: at most two decimals, no -0.
std::string svg_number(double value);

/// A number for people, with a real minus sign.
std::string with_minus_sign(std::string text);

/// At most this wide in a font of kFontSize, by a rule that is generous to every common font.
double text_width(std::string_view text);

/// The text where it is no wider, else its beginning and its end with … between them.
std::string shortened(std::string_view text, double width);

enum class Anchor { start, middle, end };

/// `attributes` are further ones, such as class="quiet".
std::string svg_text(double x, double y, Anchor anchor, std::string_view text, std::string_view attributes = "");
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes = "");

/// Colour and dash of the series of this number, as attributes of a group.
std::string series_attributes(std::size_t number);

/// A mark at this point: circle, square, triangle or diamond by the series' number.
std::string series_mark(double x, double y, std::size_t number);

}  // namespace scrm
