/// How tables of options print values, and short names for what their readers and printers take.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "scrm/experiments/run_options.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm::sweep_option {

template <class Value>
std::string text(const Value& value) {
  return fmt::format("{}", value);
}

inline std::string text(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

template <class Value>
std::string text(const std::optional<Value>& value) {
  return value ? text(*value) : "auto";
}

using In = const TomlValue&;
using Out = RunOptions&;
using Options = const RunOptions&;

}  // namespace scrm::sweep_option
