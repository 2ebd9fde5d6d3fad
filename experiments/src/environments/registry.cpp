#include <fmt/format.h>

#include <array>

#include "scrm/experiments/environment.hpp"
#include "scrm/io/error.hpp"

namespace scrm {

// Each is defined in its own file environment_NAME.cpp; a new one needs its name here and its line in the list.
std::unique_ptr<Environment> make_gaussian_environment(const EnvironmentOptions&);
std::unique_ptr<Environment> make_pricing_environment(const EnvironmentOptions&);
std::unique_ptr<Environment> make_advertising_environment(const EnvironmentOptions&);
std::unique_ptr<Environment> make_categorical_environment(const EnvironmentOptions&);
std::unique_ptr<Environment> make_multilabel_environment(const EnvironmentOptions&);

namespace {

constexpr std::array kEnvironments = {
    EnvironmentEntry{"gaussian", "no context, one number to hit, quadratic loss", make_gaussian_environment},
    EnvironmentEntry{"pricing", "a price for a product with 10 features; revenue with noise", make_pricing_environment},
    EnvironmentEntry{"advertising", "a bid for a user in one of two half moons", make_advertising_environment},
    EnvironmentEntry{"categorical", "one of K actions, one of them right (--actions K)", make_categorical_environment},
    EnvironmentEntry{"multilabel", "K bits, loss the share of wrong ones (--actions K)", make_multilabel_environment},
};

}  // namespace

Policy Environment::start_policy(std::uint64_t) const {
  return first_policy();
}

void Environment::action_normals(const EnvironmentRows& rows, double* out) const noexcept {
  for (int i = 0; i < rows.rows; ++i) {
    out[i] = row_stream(rows.rollout_key, StreamPurpose::action, rows.first_row + i).normal();
  }
}

void Environment::test_normals(const EnvironmentRows& rows, int draws, double* out) const noexcept {
  for (int i = 0; i < rows.rows; ++i) {
    RandomStream random = row_stream(rows.rollout_key, StreamPurpose::action, rows.first_row + i);
    for (int d = 0; d < draws; ++d) out[static_cast<std::int64_t>(d) * kBlockRows + i] = random.normal();
  }
}

std::span<const EnvironmentEntry> environments() noexcept {
  return kEnvironments;
}

std::unique_ptr<Environment> make_environment(const std::string& name, const EnvironmentOptions& options) {
  std::string names;
  for (const EnvironmentEntry& entry : kEnvironments) {
    if (name == entry.name) return entry.make(options);
    names += names.empty() ? entry.name : fmt::format(", {}", entry.name);
  }
  throw Error(ErrorKind::usage, fmt::format("there is no environment \"{}\"; choose one of {}", name, names));
}

}  // namespace scrm
