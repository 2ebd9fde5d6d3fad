#include "policy/kinds/policy_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/limited_text.hpp"

namespace scrm {

#define SCRM_POLICY_KIND(name) PolicyKindDefinition name##_kind();
#include "policy/kinds/policy_kinds.inc"
#undef SCRM_POLICY_KIND

namespace {

std::deque<PolicyKindDefinition>& registry() {
  static std::deque<PolicyKindDefinition> kinds = {
#define SCRM_POLICY_KIND(name) name##_kind(),
#include "policy/kinds/policy_kinds.inc"
#undef SCRM_POLICY_KIND
  };
  return kinds;
}

const PolicyKindDefinition* find(PolicyKind kind) {
  const auto& kinds = policy_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [kind](const PolicyKindDefinition& entry) { return entry.format.kind == kind; });
  return found != kinds.end() ? &*found : nullptr;
}

/// What keeps a definition out of the registry; empty when nothing does.
const char* incomplete_reason(const PolicyKindDefinition& kind) {
  if (kind.format.kind.name().empty()) return "it has no name";
  if (find(kind.format.kind) != nullptr) return "there is one of that name already";
  if (kind.actions.empty()) return "it acts on no kind of action";
  if (kind.actions.size() > 1 && kind.format.theta != ThetaRows::none) {
    return "with a theta it must act on one kind of action";
  }
  if (kind.log_density == nullptr) return "log_density is missing";
  if (kind.sample == nullptr && kind.actions_from_normals == nullptr) {
    return "sample (or actions_from_normals) is missing";
  }
  if (kind.score_gradient != nullptr && kind.format.theta == ThetaRows::none)
    return "without a theta it has no gradient";
  return "";
}

}  // namespace

void register_policy_kind(const PolicyKindDefinition& kind) {
  const std::string reason = incomplete_reason(kind);
  if (!reason.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("the kind of policy '{}' cannot be registered: {}", kind.format.kind.name(), reason));
  }
  registry().push_back(kind);
}

const std::deque<PolicyKindDefinition>& policy_kinds() {
  return registry();
}

const PolicyKindDefinition& policy_kind(PolicyKind kind) {
  if (const PolicyKindDefinition* found = find(kind)) return *found;
  std::vector<const PolicyKindDefinition*> all;
  for (const PolicyKindDefinition& entry : policy_kinds()) all.push_back(&entry);
  throw Error(ErrorKind::usage,
              fmt::format("there is no kind of policy '{}'; there is {}", kind.name(), names_of_kinds(all)));
}

std::string names_of_kinds(const std::vector<const PolicyKindDefinition*>& kinds) {
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    text += i == 0 ? "" : i + 1 < kinds.size() ? ", " : " or ";
    text += kinds[i]->format.kind.name();
  }
  return text;
}

Policy read_policy(const std::string& path) {
  return read_policy(path, 0);
}

Policy read_policy(const std::string& path, std::size_t memory) {
  std::vector<PolicyFormat> formats;
  for (const PolicyKindDefinition& kind : policy_kinds()) formats.push_back(kind.format);
  return memory == 0 ? read_policy(path, formats) : read_policy(path, formats, memory);
}

std::string policy_text(const Policy& policy, const std::string& comment) {
  return policy_text(policy, policy_kind(policy.kind).format, comment);
}

void write_policy(const std::string& path, const Policy& policy, const std::string& comment) {
  write_text_file(path, policy_text(policy, comment));
}

}  // namespace scrm
