/// The parts of the module, a file each, and what they share.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "scrm/kernels/policy.hpp"
#include "task/task_options.hpp"

namespace scrm::python {

void bind_evaluate(pybind11::module_& module);
void bind_learn(pybind11::module_& module);
void bind_policy(pybind11::module_& module);
void bind_sweep(pybind11::module_& module);

/// From a list of (name, Policy).
std::vector<PolicyFile> policy_files(const pybind11::list& policies);

/// By the name that policy files have for it.
FeatureMap feature_map(const std::string& name);

/// options[key], unset where that is None.
template <class T>
std::optional<T> optional_of(const pybind11::dict& options, const char* key) {
  const pybind11::object value = options[key];
  return value.is_none() ? std::nullopt : std::optional<T>(value.cast<T>());
}

}  // namespace scrm::python
