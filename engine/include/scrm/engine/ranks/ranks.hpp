/// Ranks: the processes that run one command together, and how they talk. Rank 0 prints and writes.
#pragma once

#include <string>
#include <utility>

#include "scrm/engine/ranks/byte_stream.hpp"

namespace scrm {

/// Messages between ranks arrive whole, those between two ranks in the order they were sent. One thread at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  bool is_first() const noexcept { return rank() == 0; }
  bool alone() const noexcept { return size() == 1; }

  virtual void send(int to, const Bytes& message) = 0;
  virtual Bytes receive(int from) = 0;
  /// From whichever rank has sent first, and which one that was.
  virtual std::pair<int, Bytes> receive_any() = 0;
  /// Whether receive_any would return at once.
  virtual bool has_message() = 0;

  /// How many ranks are on this one's machine, itself included.
  virtual int local_ranks() const noexcept = 0;
  /// Cores that are this rank's: those it may use, shared with the other ranks of its machine. At least 1.
  virtual int cores() const noexcept = 0;

  /// Ends all ranks, now and with exit code 1, saying why: where they can no longer agree on anything.
  [[noreturn]] virtual void abort(const std::string& why) = 0;
};

/// One process by itself.
class SerialRanks final : public Ranks {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  void send(int to, const Bytes& message) override;
  Bytes receive(int from) override;
  std::pair<int, Bytes> receive_any() override;
  bool has_message() override { return false; }
  int local_ranks() const noexcept override { return 1; }
  int cores() const noexcept override;
  [[noreturn]] void abort(const std::string& why) override;
};

}  // namespace scrm
