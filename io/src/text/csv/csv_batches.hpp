/// read_records: all records of a CSV file, most of them split and parsed on several threads, and put together in
/// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "scrm/io/import/csv_import.hpp"
#include "text/csv/csv_reader.hpp"

namespace scrm {

/// What becomes of records. Lines that several threads work on go to slots; what those come to is merged in the order
/// of the lines, so that the number of threads changes nothing.
class CsvWork {
 public:
  virtual ~CsvWork() = default;

  /// A record behind all others so far.
  virtual void add(std::span<const std::string_view> fields, std::int64_t line) = 0;
  /// Whether slots can work on their own: nothing is left that only the records before them could tell.
  virtual bool ready() const = 0;
  /// Makes as many slots ready for records of the file at hand.
  virtual void start(std::size_t slots) = 0;
  /// A record for a slot, on any thread; kBlockRows at most before its merge.
  virtual void add_to(std::size_t slot, std::span<const std::string_view> fields, std::int64_t line) = 0;
  /// Takes over what a slot has come to, and empties it.
  virtual void merge(std::size_t slot) = 0;
};

/// Slots that work at once in an import that may take a twentieth of its memory for them, when each takes `bytes` and
/// its text; 0: none fits.
std::size_t csv_slots(const CsvImport& import, std::size_t bytes);

/// Reads the file from where the reader stands to its end; `on_progress` is called from time to time. While half of the
/// slots work, one more task reads (and unpacks) what comes next, and one merges the other half.
void read_records(CsvReader& reader, const CsvImport& import, std::size_t slots, CsvWork& work,
                  const std::function<void()>& on_progress);

}  // namespace scrm
