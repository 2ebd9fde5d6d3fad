#include "ranks/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <new>

namespace scrm {
namespace {

/// How the ranks stand, as far as one of them has heard.
struct Standing {
  bool any_finished = false, all_finished = true;
  std::optional<Failure> failure;  // that of the first rank

  void merge(const Standing& later) {
    any_finished = any_finished || later.any_finished;
    all_finished = all_finished && later.all_finished;
    if (!failure) failure = later.failure;
  }
  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, any_finished);
    scrm::transfer(bytes, all_finished);
    scrm::transfer(bytes, failure);
  }
  bool fails() const { return failure || any_finished; }
};

/// Calls a step, where none has failed so far.
void attempt(const Ranks& ranks, Standing& standing, const std::function<void(ByteStream&)>& step, ByteStream& bytes) {
  if (standing.fails() || !step) return;
  try {
    step(bytes);
  } catch (...) {
    standing.failure = current_failure(ranks);
  }
}

/// The lowest bit of a rank tells whom it reports to; ranks below that bit report to it.
int reach_of(const Ranks& ranks) {
  const int rank = ranks.rank();
  return rank == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks.size()))) : rank & -rank;
}

void climb(Ranks& ranks, const ExchangeSteps& steps, Standing& standing) {
  const int rank = ranks.rank(), reach = reach_of(ranks);
  for (int step = 1; step < reach && rank + step < ranks.size(); step *= 2) {
    ByteStream from(ranks.receive(rank + step));
    Standing later;
    later.transfer(from);
    standing.merge(later);
    attempt(ranks, standing, steps.absorb, from);
  }
  if (rank == 0) return;
  ByteStream own;
  attempt(ranks, standing, steps.contribute, own);
  ByteStream message;
  standing.transfer(message);
  Bytes bytes = message.take();
  if (!standing.fails()) {
    const Bytes body = own.take();
    bytes.insert(bytes.end(), body.begin(), body.end());
  }
  ranks.send(rank - reach, bytes);
}

Standing descend(Ranks& ranks, const ExchangeSteps& steps, Standing standing) {
  const int rank = ranks.rank(), reach = reach_of(ranks);
  Bytes message;
  if (rank == 0) {
    ByteStream result, all;
    attempt(ranks, standing, steps.result, result);
    standing.transfer(all);
    message = all.take();
    const Bytes body = result.take();
    if (!standing.fails()) message.insert(message.end(), body.begin(), body.end());
  } else {
    message = ranks.receive(rank - reach);
  }
  for (int step = reach / 2; step > 0; step /= 2) {
    if (rank + step < ranks.size()) ranks.send(rank + step, message);
  }
  if (rank == 0) return standing;
  ByteStream from(std::move(message));
  standing = {};
  standing.transfer(from);
  if (!standing.fails() && steps.result) steps.result(from);
  return standing;
}

Standing meet(Ranks& ranks, const ExchangeSteps& steps, Standing standing) {
  std::string why;
  try {
    climb(ranks, steps, standing);
    return descend(ranks, steps, std::move(standing));
  } catch (...) {
    why = current_failure(ranks).message;
  }
  // Where even talking fails, as without memory for a message, others would wait for ever.
  ranks.abort(why);
  return {};
}

}  // namespace

void Failure::transfer(ByteStream& bytes) {
  scrm::transfer(bytes, rank);
  scrm::transfer(bytes, kind);
  scrm::transfer(bytes, message);
}

void RankFact::transfer(ByteStream& bytes) {
  scrm::transfer(bytes, name);
  scrm::transfer(bytes, value);
}

Failure current_failure(const Ranks& ranks) {
  try {
    throw;
  } catch (const Error& error) {
    return {ranks.rank(), error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ranks.rank(), ErrorKind::memory, "out of memory"};
  } catch (const std::exception& error) {
    return {ranks.rank(), ErrorKind::run, error.what()};
  } catch (...) {
    return {ranks.rank(), ErrorKind::run, "an unknown failure"};
  }
}

void exchange(Ranks& ranks, const ExchangeSteps& steps, std::optional<Failure> own) {
  const Standing standing = meet(ranks, steps, {false, false, std::move(own)});
  if (standing.failure) {
    const Failure& failure = *standing.failure;
    throw Error(failure.kind, standing.any_finished
                                  ? fmt::format("{} (on rank {} of {})", failure.message, failure.rank, ranks.size())
                                  : failure.message);
  }
  if (standing.any_finished) throw Error(ErrorKind::run, "a rank has ended before the others");
}

std::optional<Failure> finish_ranks(Ranks& ranks, std::optional<Failure> own) {
  Standing standing;
  do {
    standing = meet(ranks, {}, {true, true, own});
  } while (!standing.all_finished);
  return standing.failure;
}

std::int64_t least_of_ranks(Ranks& ranks, std::int64_t own) {
  if (ranks.alone()) return own;
  exchange(ranks, {.contribute = [&](ByteStream& bytes) { transfer(bytes, own); },
                   .absorb =
                       [&](ByteStream& bytes) {
                         std::int64_t later = 0;
                         transfer(bytes, later);
                         own = std::min(own, later);
                       },
                   .result = [&](ByteStream& bytes) { transfer(bytes, own); }});
  return own;
}

std::string text_of_first_rank(Ranks& ranks, std::string text) {
  if (!ranks.alone())
    exchange(ranks, {.contribute = {}, .absorb = {}, .result = [&](ByteStream& bytes) { transfer(bytes, text); }});
  return text;
}

void require_same_on_ranks(Ranks& ranks, const std::vector<RankFact>& facts) {
  if (ranks.alone()) return;
  std::vector<RankFact> own = facts;
  const auto compare = [&](ByteStream& bytes) {
    int other = 0;
    std::vector<RankFact> theirs;
    transfer(bytes, other);
    transfer(bytes, theirs);
    for (std::size_t f = 0; f < std::min(own.size(), theirs.size()); ++f) {
      if (own[f].name == theirs[f].name && own[f].value == theirs[f].value) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("the ranks differ in {}: {} on rank {}, {} on rank {}; start the same program on the "
                              "same inputs everywhere",
                              own[f].name, own[f].value, ranks.rank(), theirs[f].value, other));
    }
    if (theirs.size() != own.size())
      throw Error(ErrorKind::usage, fmt::format("ranks {} and {} see different inputs", ranks.rank(), other));
  };
  exchange(ranks, {.contribute =
                       [&](ByteStream& bytes) {
                         int rank = ranks.rank();
                         transfer(bytes, rank);
                         transfer(bytes, own);
                       },
                   .absorb = compare,
                   .result = {}});
}

}  // namespace scrm
