#include <array>

#include "sweep/file/option_text.hpp"
#include "sweep/file/options.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm {
namespace {

using namespace sweep_option;

constexpr EnumNames<FeatureMap, 2> kFeatureMaps = {{{"linear", FeatureMap::linear}, {"fourier", FeatureMap::fourier}}};

bool has_fourier(const RunOptions& options) {
  return options.features == FeatureMap::fourier;
}

// Left out of the identity of runs that do not have them.
constexpr std::array kFeatureOptions = {
    SweepOption{.key = "features",
                .help = "labelled data: contexts as they are, or followed by random features of a gaussian kernel",
                .values = "\"linear\" or \"fourier\"",
                .read = [](In in, Out out) { out.features = in.choice(kFeatureMaps); },
                .print = [](Options o) { return has_fourier(o) ? "fourier" : std::string(); }},
    SweepOption{.key = "width",
                .help = "fourier: how many random features",
                .values = "1 to 1e6",
                .read = [](In in, Out out) { out.fourier.width = in.integer(1, 1'000'000); },
                .print = [](Options o) { return has_fourier(o) ? text(o.fourier.width) : std::string(); }},
    SweepOption{.key = "bandwidth",
                .help = "fourier: of the kernel, in standard deviations; else the root of the number of features",
                .values = "above 0",
                .read = [](In in, Out out) { out.fourier.bandwidth = in.number(kAboveZero); },
                .print = [](Options o) { return has_fourier(o) ? text(o.fourier.bandwidth) : std::string(); }},
    SweepOption{
        .key = "feature_seed",
        .help = "fourier: of the frequencies, to which the run's seed is added",
        .values = "0 to 1e9",
        .read = [](In in, Out out) { out.fourier.seed = static_cast<std::uint64_t>(in.integer(0, 1'000'000'000)); },
        .print = [](Options o) { return has_fourier(o) ? text(o.fourier.seed) : std::string(); }},
};

}  // namespace

std::span<const SweepOption> feature_options() noexcept {
  return kFeatureOptions;
}

}  // namespace scrm
