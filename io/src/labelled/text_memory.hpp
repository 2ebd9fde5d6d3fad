/// What labelled data takes in memory while it is read from text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace scrm {

/// The bytes that each text may have, in a memory of so many (0: no limit, as what is returned). Throws an Error of
/// kind memory where the numbers of the files do not fit; pipes and compressed files do not say how many they have.
std::size_t require_text_fits(const std::vector<std::string>& paths, std::size_t memory);

}  // namespace scrm
