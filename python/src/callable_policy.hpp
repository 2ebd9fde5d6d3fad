/// A policy that is a Python function.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "run_task.hpp"
#include "scrm/engine/policy/target_policy.hpp"

namespace scrm::python {

/// `function` is called with the contexts of a block of rows, [rows, features], and returns probabilities: [rows,
/// actions] where actions are categorical, of each bit being 1, [rows, labels], where they are labels. For continuous
/// actions it is called with the logged actions too and returns their densities, [rows]. It is called by many threads,
/// one at a time.
std::shared_ptr<const TargetPolicy> make_callable_policy(const pybind11::object& function, const std::string& name,
                                                         const TaskContext& context);

}  // namespace scrm::python
