#include "sweep_plan.hpp"

#include <fmt/format.h>

#include <sstream>

#include "scrm/io/error.hpp"
#include "version.hpp"

namespace scrm {
namespace {

/// FNV-1a, 64 bits, from a start of its own.
std::uint64_t fnv(const std::string& text, std::uint64_t hash) {
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

/// 128 bits in hexadecimal: two hashes with different starts.
std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}{:016x}", fnv(text, 0xcbf29ce484222325), fnv(text, 0x9ae16a3b2f90404f));
}

std::string describe(const SweepPart& part) {
  return fmt::format("[{} / {}]\nversion = {}\nmethod = {}\ndata = {}\n{}", part.environment, part.method.name,
                     version(), part.method.method->name, part.setting != nullptr ? part.setting->fingerprint() : "",
                     describe(part.options));
}

std::vector<HyperParameters> grid(const SweepPart& part) {
  if (!part.method.method->has_lambda) return {{}};
  std::vector<HyperParameters> out;
  for (const LambdaChoice& lambda : part.options.lambdas) {
    for (const double l2 : part.options.l2) out.push_back({lambda, l2});
  }
  return out;
}

/// Lines of each part.
std::map<std::string, std::vector<std::string>> sections(const std::string& text) {
  std::map<std::string, std::vector<std::string>> out;
  std::istringstream lines(text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 1 && line.front() == '[') {
      name = line.substr(1, line.size() - 2);
    } else {
      out[name].push_back(line);
    }
  }
  return out;
}

}  // namespace

SweepPlan::SweepPlan(const SweepFile& file) {
  for (const std::string& environment : file.environments()) {
    std::string failure;
    try {
      settings_[environment] = make_setting(environment, file.data_dir());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage) throw;
      failure = error.what();
    }
    for (const SweepMethod& method : file.methods()) add_part(file, environment, method, failure);
  }
}

void SweepPlan::add_part(const SweepFile& file, const std::string& environment, const SweepMethod& method,
                         const std::string& failure) {
  const Setting* setting = settings_[environment].get();
  if (setting != nullptr && method.method->labelled_only && !setting->has_labels()) {
    remarks_.push_back(fmt::format("{} is left out on {}: its actions are not bits", method.name, environment));
    return;
  }
  SweepPart part;
  part.environment = environment;
  part.method = method;
  part.setting = setting;
  part.failure = failure;
  part.options = file.options(setting != nullptr ? setting->defaults() : RunOptions{}, environment, method.name);
  // Without its data nothing can be said about a part that a later sitting, with the data, would have to agree with.
  if (setting != nullptr) options_text_ += describe(part);
  parts_.push_back(std::move(part));
  add_runs(file, parts_.size() - 1);
}

void SweepPlan::add_runs(const SweepFile& file, std::size_t index) {
  const SweepPart& part = parts_[index];
  const std::string text = describe(part);
  for (const HyperParameters& parameters : grid(part)) {
    for (const std::int64_t seed : file.seeds()) {
      PlannedRun run;
      run.part = index;
      run.parameters = parameters;
      RunRecord& record = run.record;
      record.environment = part.environment;
      record.method = part.method.name;
      record.seed = seed;
      if (part.method.method->has_lambda) {
        record.lambda_rule = to_string(parameters.lambda.kind);
        if (parameters.lambda.kind == LambdaKind::given) record.hyperparameter = parameters.lambda.value;
        record.numbers["l2"] = parameters.l2;
      }
      record.identity = hash_of(text + run_key(record));
      runs_.push_back(std::move(run));
    }
  }
}

std::string run_key(const RunRecord& run) {
  const auto l2 = run.numbers.find("l2");
  return fmt::format("{} / {} / {} {} / l2 {} / seed {}", run.environment, run.method, run.lambda_rule,
                     run.hyperparameter, l2 != run.numbers.end() ? l2->second : 0.0, run.seed);
}

std::vector<std::string> conflicts(const std::string& before, const std::string& now) {
  std::vector<std::string> out;
  const auto old_parts = sections(before);
  for (const auto& [name, lines] : sections(now)) {
    const auto old = old_parts.find(name);
    if (old == old_parts.end()) continue;
    for (std::size_t i = 0; i < std::max(lines.size(), old->second.size()); ++i) {
      const std::string was = i < old->second.size() ? old->second[i] : "";
      const std::string is = i < lines.size() ? lines[i] : "";
      if (was == is) continue;
      const auto value = [](const std::string& line) { return line.substr(std::min(line.size(), line.find('=') + 2)); };
      out.push_back(fmt::format("{}: {} was {} and is {}", name, is.substr(0, is.find(' ')), value(was), value(is)));
    }
  }
  return out;
}

}  // namespace scrm
