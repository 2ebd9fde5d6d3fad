#include <array>

#include "sweep/file/option_text.hpp"
#include "sweep/file/options.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm {
namespace {

using namespace sweep_option;

constexpr EnumNames<bool, 2> kAdvantages = {{{"normalized", true}, {"plain", false}}};

constexpr std::array kReinforcementOptions = {
    SweepOption{.key = "entropy_weights",
                .help = "ppo, trpo: weight of the entropy in pretraining, a run each, in place of lambdas",
                .values = "numbers",
                .read = [](In in, Out out) { out.entropy_weights = in.numbers(0); },
                .print = [](Options o) { return text(o.entropy_weights); }},
    SweepOption{
        .key = "pretraining_steps",
        .help = "ppo, trpo: gradient steps that clone who logged the first batch",
        .values = "0 to 1e6",
        .read = [](In in,
                   Out out) { out.reinforcement.pretraining.steps = static_cast<int>(in.integer(0, 1'000'000)); },
        .print = [](Options o) { return text(o.reinforcement.pretraining.steps); }},
    SweepOption{.key = "pretraining_rate",
                .help = "ppo, trpo: Adam's rate in these",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.pretraining.rate = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.pretraining.rate); }},
    SweepOption{
        .key = "minibatch",
        .help = "ppo, trpo: rows of a gradient step",
        .values = "1 to 1e9",
        .read = [](In in, Out out) { out.reinforcement.minibatch = static_cast<int>(in.integer(1, 1'000'000'000)); },
        .print = [](Options o) { return text(o.reinforcement.minibatch); }},
    SweepOption{.key = "advantages",
                .help = "ppo, trpo: normalized to mean 0 and spread 1, or rewards minus values as they are",
                .values = "\"normalized\" or \"plain\"",
                .read = [](In in, Out out) { out.reinforcement.normalize_advantages = in.choice(kAdvantages); },
                .print = [](Options o) { return text(name_of(kAdvantages, o.reinforcement.normalize_advantages)); }},
    SweepOption{
        .key = "ppo_epochs",
        .help = "ppo: passes over each batch",
        .values = "1 to 1e6",
        .read = [](In in, Out out) { out.reinforcement.ppo.epochs = static_cast<int>(in.integer(1, 1'000'000)); },
        .print = [](Options o) { return text(o.reinforcement.ppo.epochs); }},
    SweepOption{.key = "ppo_rate",
                .help = "ppo: Adam's rate",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.ppo.rate = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.ppo.rate); }},
    SweepOption{.key = "ppo_clip",
                .help = "ppo: ratios of new to old probabilities further from 1 gain nothing",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.ppo.clip = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.ppo.clip); }},
    SweepOption{.key = "value_weight",
                .help = "ppo: of the critic's squared error beside the surrogate",
                .values = "0 or more",
                .read = [](In in, Out out) { out.reinforcement.ppo.value_weight = in.number(0); },
                .print = [](Options o) { return text(o.reinforcement.ppo.value_weight); }},
    SweepOption{.key = "gradient_norm",
                .help = "ppo: longer gradients are cut to it",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.ppo.gradient_norm = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.ppo.gradient_norm); }},
    SweepOption{.key = "trpo_kl",
                .help = "trpo: largest mean KL divergence of a step",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.trpo.kl = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.trpo.kl); }},
    SweepOption{
        .key = "trpo_steps",
        .help = "trpo: conjugate-gradient steps to find its direction",
        .values = "1 to 1e6",
        .read = [](In in,
                   Out out) { out.reinforcement.trpo.conjugate_steps = static_cast<int>(in.integer(1, 1'000'000)); },
        .print = [](Options o) { return text(o.reinforcement.trpo.conjugate_steps); }},
    SweepOption{.key = "trpo_damping",
                .help = "trpo: added to the diagonal of the Fisher matrix",
                .values = "0 or more",
                .read = [](In in, Out out) { out.reinforcement.trpo.damping = in.number(0); },
                .print = [](Options o) { return text(o.reinforcement.trpo.damping); }},
    SweepOption{.key = "trpo_shrink",
                .help = "trpo: a step that is refused becomes this much shorter",
                .values = "above 0, to 1",
                .read = [](In in, Out out) { out.reinforcement.trpo.shrink = in.number(kAboveZero, 1); },
                .print = [](Options o) { return text(o.reinforcement.trpo.shrink); }},
    SweepOption{
        .key = "trpo_backtracks",
        .help = "trpo: steps that are tried at most",
        .values = "1 to 1000",
        .read = [](In in, Out out) { out.reinforcement.trpo.backtracks = static_cast<int>(in.integer(1, 1000)); },
        .print = [](Options o) { return text(o.reinforcement.trpo.backtracks); }},
    SweepOption{
        .key = "critic_epochs",
        .help = "trpo: passes over each batch to fit the critic",
        .values = "0 to 1e6",
        .read = [](In in,
                   Out out) { out.reinforcement.trpo.critic_epochs = static_cast<int>(in.integer(0, 1'000'000)); },
        .print = [](Options o) { return text(o.reinforcement.trpo.critic_epochs); }},
    SweepOption{.key = "critic_rate",
                .help = "trpo: Adam's rate in these",
                .values = "above 0",
                .read = [](In in, Out out) { out.reinforcement.trpo.critic_rate = in.number(kAboveZero); },
                .print = [](Options o) { return text(o.reinforcement.trpo.critic_rate); }},
};

}  // namespace

std::span<const SweepOption> reinforcement_options() noexcept {
  return kReinforcementOptions;
}

}  // namespace scrm
