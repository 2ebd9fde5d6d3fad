#include <fmt/format.h>

#include <array>

#include "cli/spelling.hpp"
#include "scrm/experiments/method.hpp"
#include "scrm/io/error.hpp"

namespace scrm {

// Each is defined in its own file method_NAME.cpp.
std::unique_ptr<Learner> make_crm(const LearnerSetup&);
std::unique_ptr<Learner> make_scrm(const LearnerSetup&);
std::unique_ptr<Learner> make_sbpe(const LearnerSetup&);
std::unique_ptr<Learner> make_bkucb(const LearnerSetup&);
std::unique_ptr<Learner> make_baseline(const LearnerSetup&);
std::unique_ptr<Learner> make_skyline(const LearnerSetup&);
std::unique_ptr<Learner> make_all_zeros(const LearnerSetup&);
std::unique_ptr<Learner> make_majority(const LearnerSetup&);
MethodResources sbpe_resources(const ProblemFactory&, const RunOptions&, const HyperParameters&, int threads);
MethodResources bkucb_resources(const ProblemFactory&, const RunOptions&, const HyperParameters&, int threads);

namespace {

constexpr std::array kNoRidge = {0.0};
constexpr std::array kRidges = {1.0, 10.0, 100.0};

//                                                                        λ      logs   deploys bits
constexpr std::array kMethods = {
    MethodEntry{"baseline", "the policy that learning starts from", false, false, false, false, make_baseline},
    MethodEntry{"crm", "learns from all logs of the standing policy", true, true, false, false, make_crm},
    MethodEntry{"scrm", "deploys what it learned and learns again", true, true, true, false, make_scrm},
    MethodEntry{"sbpe", "plays what a linear fit to all logs thinks best", true, true, true, false, make_sbpe, true,
                kNoRidge, sbpe_resources},
    MethodEntry{"bkucb", "plays what a kernel fit to all logs may find best", true, true, true, false, make_bkucb, true,
                kRidges, bkucb_resources},
    MethodEntry{"skyline", "supervised learning with the right answers", false, false, false, false, make_skyline},
    MethodEntry{"all-zeros", "no bit is ever set", false, false, false, true, make_all_zeros},
    MethodEntry{"majority", "each bit's majority", false, false, false, true, make_majority},
};

}  // namespace

std::span<const MethodEntry> methods() noexcept {
  return kMethods;
}

const MethodEntry& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodEntry& entry : kMethods) {
    if (name == entry.name) return entry;
    names.emplace_back(entry.name);
  }
  const auto closest = closest_word(name, names);
  throw Error(ErrorKind::usage,
              closest ? fmt::format("there is no method \"{}\"; did you mean \"{}\"?", name, *closest)
                      : fmt::format("there is no method \"{}\"; choose among {}", name, fmt::join(names, ", ")));
}

}  // namespace scrm
