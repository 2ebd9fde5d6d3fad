/// Words that stand for the values of an enumeration, in sweep files and on the command line: one list for each.
#pragma once

#include <array>
#include <map>
#include <string>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

template <class Value>
struct EnumName {
  const char* name;
  Value value;
};

/// In the order in which messages list them.
template <class Value, std::size_t count>
using EnumNames = std::array<EnumName<Value>, count>;

inline constexpr EnumNames<Penalty, 2> kPenaltyNames = {{{"se", Penalty::se}, {"sd", Penalty::sd}}};
inline constexpr EnumNames<Mixing, 2> kMixingNames = {{{"label", Mixing::label}, {"joint", Mixing::joint}}};

template <class Value, std::size_t count>
constexpr const char* name_of(const EnumNames<Value, count>& names, Value value) noexcept {
  for (const EnumName<Value>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "";
}

/// As CLI11 takes it.
template <class Value, std::size_t count>
std::map<std::string, Value> values_by_name(const EnumNames<Value, count>& names) {
  std::map<std::string, Value> out;
  for (const EnumName<Value>& entry : names) out[entry.name] = entry.value;
  return out;
}

}  // namespace scrm
