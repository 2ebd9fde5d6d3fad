/// What all ranks do together outside of passes: agree on numbers, find out that they differ, end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

/// Why a rank cannot go on.
struct Failure {
  int rank = 0;
  ErrorKind kind = ErrorKind::run;
  std::string message;

  void transfer(ByteStream& bytes);
};

/// The smallest of what the ranks give, on every rank: so that decisions that rest on it are the same everywhere.
std::int64_t least_of_ranks(Ranks& ranks, std::int64_t own);

/// The exception that is being handled.
Failure current_failure(const Ranks& ranks);

/// What the first rank gives, on every rank.
std::string text_of_first_rank(Ranks& ranks, std::string text);

/// One thing that must be the same on every rank.
struct RankFact {
  std::string name;   ///< "version"
  std::string value;  ///< shown where it differs

  void transfer(ByteStream& bytes);
};

/// Throws, on every rank, an Error that names the first fact that differs and a rank on which it does.
void require_same_on_ranks(Ranks& ranks, const std::vector<RankFact>& facts);

/// To be called once, last, on every rank. Waits for all of them; a rank that ends with a failure makes the others'
/// passes throw it, so that none waits for ever. Returns the failure of the first rank that has one.
std::optional<Failure> finish_ranks(Ranks& ranks, std::optional<Failure> own);

}  // namespace scrm
