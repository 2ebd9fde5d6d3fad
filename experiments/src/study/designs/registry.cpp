#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "study/designs/designs.hpp"
#include "study/designs/further_designs.hpp"
#include "study/designs/later_designs.hpp"
#include "study/designs/unseen_designs.hpp"

namespace scrm {
namespace {

StudyDesign named(std::string name, std::string description, StudyDesign design) {
  design.name = std::move(name);
  design.description = std::move(description);
  return design;
}

StudyDesign heavy_lognormal() {
  constexpr double kSigma = 1.5;
  return heavy_losses([](RandomStream& stream) { return std::exp(kSigma * stream.normal()); },
                      std::exp(kSigma * kSigma / 2));
}

StudyDesign heavy_pareto() {
  constexpr double kShape = 2.5;
  return heavy_losses([](RandomStream& stream) { return std::pow(stream.uniform(), -1 / kShape); },
                      kShape / (kShape - 1));
}

/// Most rows bring nothing, 3 % of them exp(N(3, 1)).
StudyDesign heavy_revenue() {
  constexpr double kBuyers = 0.03;
  return heavy_losses(
      [](RandomStream& stream) { return stream.uniform() < kBuyers ? std::exp(3 + stream.normal()) : 0.0; },
      kBuyers * std::exp(3.5));
}

std::vector<StudyDesign> make_designs() {
  std::vector<StudyDesign> out;
  out.push_back(named("near", "gaussian target a tenth of a standard deviation away", gaussian_shift(0.1, 1)));
  for (const double shift : {0.5, 1.0, 1.5, 2.0}) {
    out.push_back(named(fmt::format("far-{}", shift),
                        fmt::format("gaussian target {} standard deviation{} away", shift, shift > 1 ? "s" : ""),
                        gaussian_shift(shift, 1)));
  }
  for (const double rate : {0.001, 0.005, 0.01, 0.05}) {
    out.push_back(named(fmt::format("rare-{}", rate),
                        fmt::format("click rate {:g} %, 40 actions logged by Zipf's law, uniform target", 100 * rate),
                        rare_outcomes(rate, false)));
  }
  for (const double rate : {0.001, 0.005, 0.01, 0.05}) {
    out.push_back(named(fmt::format("rare-logged-{}", rate),
                        fmt::format("the same at {:g} %, the target is the policy that logged", 100 * rate),
                        rare_outcomes(rate, true)));
  }
  for (const double rate : {0.05, 0.3}) {
    out.push_back(
        named(fmt::format("explore-uniform-{}", rate),
              fmt::format("click rate {:g} %, 1 % exploration for each of 10 items, uniform target", 100 * rate),
              little_exploration(rate, false)));
    out.push_back(named(fmt::format("explore-item-{}", rate),
                        fmt::format("the same at {:g} %, the target shows one explored item", 100 * rate),
                        little_exploration(rate, true)));
  }
  out.push_back(named("heavy-lognormal", "lognormal losses, sigma 1.5", heavy_lognormal()));
  out.push_back(named("heavy-pareto", "Pareto losses, shape 2.5", heavy_pareto()));
  out.push_back(named("heavy-revenue", "3 % of the rows have a lognormal loss, the others none", heavy_revenue()));
  out.push_back(named("multilabel", "8 independent bits, each likelier by 0.15 in the target, Hamming loss",
                      shifted_labels(8, 0.15)));
  out.push_back(named("offset-1000", "far-0.5 with losses around 1000", gaussian_shift(0.5, 1000)));
  out.push_back(
      named("wrong-propensities", "recorded 20 % too large: a warning is wanted, not coverage", wrong_propensities()));
  out.push_back(named("clustered", "20 rows that follow each other share an effect", clustered_rows()));
  return out;
}

}  // namespace

const std::vector<StudyDesign>& study_designs() {
  static const std::vector<StudyDesign> designs = make_designs();
  return designs;
}

const std::vector<StudyDesign>& further_study_designs() {
  static const std::vector<StudyDesign> designs = make_further_designs();
  return designs;
}

const std::vector<StudyDesign>& later_study_designs() {
  static const std::vector<StudyDesign> designs = make_later_designs();
  return designs;
}

const std::vector<StudyDesign>& unseen_study_designs() {
  static const std::vector<StudyDesign> designs = make_unseen_designs();
  return designs;
}

std::vector<const std::vector<StudyDesign>*> all_study_designs() {
  return {&study_designs(), &further_study_designs(), &later_study_designs(), &unseen_study_designs()};
}

const StudyDesign& find_study_design(const std::string& name) {
  std::vector<std::string> known;
  for (const std::vector<StudyDesign>* designs : all_study_designs()) {
    for (const StudyDesign& design : *designs) {
      if (design.name == name) return design;
      known.push_back(design.name);
    }
  }
  const std::string meant = did_you_mean(name, known);
  throw Error(ErrorKind::usage, fmt::format("there is no design '{}'; there are {}{}{}", name, fmt::join(known, ", "),
                                            meant.empty() ? "" : "; ", meant));
}

}  // namespace scrm
