#include <numeric>

#include "scrm/io/import/import_output.hpp"

namespace scrm {

const char* to_string(BadRecordReason reason) noexcept {
  switch (reason) {
    case BadRecordReason::wrong_number_of_fields:
      return "wrong number of fields";
    case BadRecordReason::value_missing:
      return "a value is missing";
    case BadRecordReason::not_a_number:
      return "a value is not a number";
    case BadRecordReason::unknown_level:
      return "a level or action is not in the encoding";
  }
  return "";
}

const char* key(BadRecordReason reason) noexcept {
  switch (reason) {
    case BadRecordReason::wrong_number_of_fields:
      return "wrong_number_of_fields";
    case BadRecordReason::value_missing:
      return "value_missing";
    case BadRecordReason::not_a_number:
      return "not_a_number";
    case BadRecordReason::unknown_level:
      return "unknown_level";
  }
  return "";
}

std::int64_t ImportResult::skipped_rows() const noexcept {
  return std::accumulate(bad_records.begin(), bad_records.end(), std::int64_t{0}) +
         std::accumulate(bad_rows.begin(), bad_rows.end(), std::int64_t{0});
}

}  // namespace scrm
