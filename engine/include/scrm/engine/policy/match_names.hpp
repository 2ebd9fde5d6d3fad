/// match_names: a policy whose features and actions have names, brought into the order of the data.
#pragma once

#include <string>

#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Where both the policy and the data name their features, theta is rearranged to the data's order; features that the
/// policy does not know get zeros. Where both name their actions, rows of theta are rearranged likewise. What has no
/// names is taken by position. Throws an Error that names `name` when the data lacks a feature, or the two have other
/// actions.
Policy match_names(Policy policy, const Schema& schema, const std::string& name);

}  // namespace scrm
