/// A warning of data without names of columns beside a policy that names its inputs.
#pragma once

#include <string>
#include <vector>

#include "scrm/io/shard/dataset.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// That the data's columns are taken in the order of the policy's inputs, since only the policy has names for them;
/// empty where it is not so. `name` is the policy's.
std::string unnamed_inputs_warning(const Policy& policy, const std::string& name, const Dataset& dataset);

/// The same of data that goes by this name.
std::string unnamed_inputs_warning(const Policy& policy, const std::string& name, const Schema& schema,
                                   const std::string& data);

}  // namespace scrm
