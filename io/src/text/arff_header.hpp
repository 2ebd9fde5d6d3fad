/// The declarations at the top of an ARFF file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/text_file.hpp"

namespace scrm {

struct ArffAttribute {
  std::string name;
  std::vector<std::string> levels = {};  ///< nominal: what it may be, in the order declared; empty: any number
  std::vector<double> values = {};       ///< the same as numbers; empty where one of them is none
};

/// Reads up to and with the line @data: @relation and @attribute in any case, comments and empty lines between them.
/// Throws for attributes that hold no numbers, but for nominal ones where `texts` are allowed.
std::vector<ArffAttribute> read_arff_header(TextFile& file, bool texts);

/// Takes a word from the front of the text, blanks before it passed over: in single or double quotes, with backslashes
/// undone, or up to a blank or one of `ends`. False when a quote is not closed.
bool take_word(std::string_view& text, std::string_view ends, std::string& word);

}  // namespace scrm
