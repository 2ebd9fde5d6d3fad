// A policy file; what was read is written and read again.
#include <cstring>

#include "scrm/engine/policy/policy_kind.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace scrm;
  const std::string file = fuzzing::write_file("in.toml", fuzzing::text_of(data, size));
  Policy policy;
  if (!fuzzing::read_or_refused([&] { policy = read_policy(file); })) return 0;
  const Policy again = read_policy(fuzzing::write_file("again.toml", policy_text(policy, "written again")));
  fuzzing::require(policy.kind == again.kind && policy.features == again.features && policy.mixing == again.mixing &&
                       policy.outputs == again.outputs && policy.theta.size() == again.theta.size() &&
                       policy.fourier.width == again.fourier.width && policy.fourier.seed == again.fourier.seed &&
                       policy.fourier.spread == again.fourier.spread && policy.fourier.centre == again.fourier.centre,
                   "a policy keeps its shape");
  fuzzing::require(policy.theta.empty() ||
                       std::memcmp(policy.theta.data(), again.theta.data(), policy.theta.size() * sizeof(double)) == 0,
                   "a policy keeps its bits");
  return 0;
}
