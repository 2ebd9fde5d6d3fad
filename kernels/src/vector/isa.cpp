#include "scrm/kernels/vector/isa.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector/isa.cpp"
#include <hwy/foreach_target.h>
// Highway's headers come after foreach_target: this file is compiled once for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}
}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "scrm/kernels/vector/ignore_case.hpp"
#include "vector/dispatch.hpp"

namespace scrm {
HWY_EXPORT(target_name);

namespace {

// Kept from before anything is forced: Highway's own list then shrinks to the forced set.
const std::vector<std::int64_t>& runnable_targets() {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

bool select_isa(std::string_view name) noexcept {
  std::int64_t wanted = 0;  // Highway's word for all of them
  for (const std::int64_t target : runnable_targets()) {
    if (wanted == 0 && equal_ignoring_case(name, hwy::TargetName(target))) wanted = target;
  }
  if (wanted == 0 && !name.empty()) return false;
  hwy::SetSupportedTargetsForTest(wanted);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

}  // namespace

bool environment_isa_is_valid() noexcept {
  static const bool valid = [] {
    const char* wanted = std::getenv("SCRM_ISA");
    if (wanted != nullptr && !select_isa(wanted)) {
      select_isa("");
      return false;
    }
    if (wanted == nullptr) select_isa("");
    return true;
  }();
  return valid;
}

bool force_isa(std::string_view name) noexcept {
  ensure_isa();  // or the first kernel would undo the choice
  return select_isa(name);
}

const char* active_isa() noexcept {
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

std::vector<const char*> available_isas() {
  std::vector<const char*> names;
  for (const std::int64_t target : runnable_targets()) names.push_back(hwy::TargetName(target));
  return names;
}

}  // namespace scrm
#endif
