#include "scrm/experiments/sweep_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "cli/spelling.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// 2^40 rows and more cannot be meant, and would overflow what counts them.
constexpr int kMaxSweepRollouts = 40;
constexpr std::int64_t kMaxFirstBatch = 1'000'000'000;
constexpr std::int64_t kMaxSeeds = 1'000'000;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 50;
// Beyond these, no kernel matrix is worth its digits, or fits any machine.
constexpr int kMaxDegree = 8;
constexpr std::int64_t kMaxPoints = 100'000;
constexpr double kMaxNumber = std::numeric_limits<double>::max();
const char* kDefaultDataDir = "../shared/data";

const std::vector<std::string> kTopKeys = {"environments", "methods", "seeds", "data_dir", "environment", "method"};
const std::vector<std::string> kOptionKeys = {"protocol",
                                              "rollouts",
                                              "first_batch",
                                              "growth",
                                              "lambdas",
                                              "lambda_candidates",
                                              "estimator",
                                              "penalty",
                                              "l2",
                                              "alpha",
                                              "largest_weight",
                                              "bound",
                                              "past",
                                              "warm_start",
                                              "epsilon",
                                              "mixing",
                                              "replays",
                                              "projection",
                                              "bonus",
                                              "max_iterations",
                                              "tolerance",
                                              "relative_decrease",
                                              "unit_length",
                                              "kernel",
                                              "degree",
                                              "length",
                                              "beta",
                                              "encoding",
                                              "points",
                                              "compare_points",
                                              "bandit_lambdas"};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    throw Error(ErrorKind::file,
                file ? "the sweep file is empty" : "cannot read the sweep file: it is missing or may not be read",
                {.file = path});
  }
  return text.str();
}

}  // namespace

/// The tables of the file, and how their values become options.
class SweepFile::Reader {
 public:
  Reader(std::string path, const std::string& text) : path_(std::move(path)) {
    try {
      root_ = toml::parse(text, path_);
    } catch (const toml::parse_error& error) {
      throw Error(ErrorKind::usage,
                  fmt::format("line {}: not TOML: {}", error.source().begin.line, error.description()),
                  {.file = path_});
    }
  }

  [[noreturn]] void fail(const toml::node& node, const std::string& key, const std::string& what) const {
    throw Error(ErrorKind::usage, fmt::format("line {}: {}: {}", node.source().begin.line, key, what), {.file = path_});
  }

  const toml::table& root() const { return root_; }

  /// The table [group.name], empty when there is none.
  const toml::table* section(const char* group, const std::string& name) const {
    const toml::table* all = root_[group].as_table();
    return all != nullptr && all->contains(name) ? all->at(name).as_table() : nullptr;
  }

  void require_known(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const auto closest = closest_word(name, known);
      fail(node, name,
           closest ? fmt::format("there is no such key; did you mean {}?", *closest)
                   : fmt::format("there is no such key; there are {}", fmt::join(known, ", ")));
    }
  }

  double number(const toml::node& node, const std::string& key, double least, double most) const {
    const auto value = node.value<double>();
    if (!value || !(*value >= least && *value <= most)) {
      if (most < kMaxNumber) fail(node, key, fmt::format("wants a number from {} to {}", least, most));
      if (least == -kMaxNumber) fail(node, key, "wants a finite number");
      // The least positive number that can be written down stands for zero itself being too little.
      fail(node, key,
           least > 0 && least < 1e-300 ? "wants a number above 0" : fmt::format("wants a number of {} or more", least));
    }
    return *value;
  }

  std::int64_t integer(const toml::node& node, const std::string& key, std::int64_t least, std::int64_t most) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < least || *value > most) {
      fail(node, key, fmt::format("wants a whole number from {} to {}", least, most));
    }
    return *value;
  }

  bool boolean(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<bool>();
    if (!value) fail(node, key, "wants true or false");
    return *value;
  }

  std::string text(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) fail(node, key, "wants a text in quotes");
    return *value;
  }

  /// Position of the word among `words`.
  std::size_t choice(const toml::node& node, const std::string& key, const std::vector<std::string>& words) const {
    const auto value = node.value_exact<std::string>();
    const auto found = value ? std::find(words.begin(), words.end(), *value) : words.end();
    if (found == words.end()) fail(node, key, fmt::format("wants one of \"{}\"", fmt::join(words, "\", \"")));
    return static_cast<std::size_t>(found - words.begin());
  }

  std::vector<std::string> strings(const std::string& key) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} is missing; write for instance {}", key,
                              key == "methods" ? "methods = [\"crm\", \"scrm\"]" : "environments = [\"pricing\"]"),
                  {.file = path_});
    }
    std::vector<std::string> out;
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty()) fail(*node, key, "wants a list of names in quotes");
    for (const toml::node& item : *list) {
      const auto name = item.value_exact<std::string>();
      if (!name || name->empty()) fail(item, key, "wants names in quotes");
      if (std::find(out.begin(), out.end(), *name) != out.end())
        fail(item, key, fmt::format("\"{}\" comes twice", *name));
      out.push_back(*name);
    }
    return out;
  }

  std::vector<std::int64_t> seeds() const {
    const toml::node* node = root_.get("seeds");
    if (node == nullptr) return {0};
    std::vector<std::int64_t> out;
    if (const toml::array* list = node->as_array()) {
      if (list->empty()) fail(*node, "seeds", "the list is empty");
      for (const toml::node& item : *list) {
        out.push_back(integer(item, "seeds", 0, std::numeric_limits<std::int64_t>::max()));
        if (std::count(out.begin(), out.end(), out.back()) > 1) fail(item, "seeds", "a seed comes twice");
      }
      return out;
    }
    const std::int64_t count = integer(*node, "seeds", 1, kMaxSeeds);
    for (std::int64_t seed = 0; seed < count; ++seed) out.push_back(seed);
    return out;
  }

  std::vector<double> numbers(const toml::node& node, const std::string& key, double least) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return {number(node, key, least, kMaxNumber)};
    if (list->empty()) fail(node, key, "the list is empty");
    std::vector<double> out;
    for (const toml::node& item : *list) {
      out.push_back(number(item, key, least, kMaxNumber));
      if (std::count(out.begin(), out.end(), out.back()) > 1)
        fail(item, key, fmt::format("{} comes twice", out.back()));
    }
    return out;
  }

  std::vector<LambdaChoice> lambdas(const toml::node& node) const {
    std::vector<LambdaChoice> out;
    const auto add = [&](const toml::node& item) {
      if (item.is_string()) {
        const std::size_t rule = choice(item, "lambdas", {"auto", "theory", "log-rows"});
        out.push_back({std::array{LambdaKind::automatic, LambdaKind::theory, LambdaKind::log_rows}[rule], 0});
      } else {
        const double value = number(item, "lambdas", 0, kMaxNumber);
        out.push_back({LambdaKind::given, value});
      }
      for (std::size_t i = 0; i + 1 < out.size(); ++i) {
        if (out[i].kind == out.back().kind && out[i].value == out.back().value)
          fail(item, "lambdas", "one comes twice");
      }
    };
    if (const toml::array* list = node.as_array()) {
      if (list->empty()) fail(node, "lambdas", "the list is empty");
      for (const toml::node& item : *list) add(item);
    } else {
      add(node);
    }
    return out;
  }

  void apply(const toml::table& table, RunOptions& options) const {
    const bool own_lambda = options.lambdas.front().kind == LambdaKind::log_rows && &table == &root_;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "lambdas") {
        if (!own_lambda) options.lambdas = lambdas(node);
      } else if (!apply_schedule(name, node, options) && !apply_objective(name, node, options) &&
                 !apply_bandit(name, node, options.bandit)) {
        apply_data(name, node, options);
      }
    }
  }

 private:
  bool apply_schedule(const std::string& key, const toml::node& node, RunOptions& options) const {
    if (key == "protocol") {
      options.protocol = choice(node, key, {"paper", "published"}) == 0 ? Protocol::paper : Protocol::published;
    } else if (key == "rollouts") {
      options.rollouts = static_cast<int>(integer(node, key, 1, kMaxSweepRollouts));
    } else if (key == "first_batch") {
      options.batches.first = integer(node, key, 1, kMaxFirstBatch);
    } else if (key == "growth") {
      options.batches.growth = choice(node, key, {"doubling", "linear"}) == 0 ? Growth::doubling : Growth::linear;
    } else if (key == "past") {
      constexpr std::array kPast = {PastRollouts::last, PastRollouts::naive, PastRollouts::balance};
      options.past = kPast[choice(node, key, {"last", "all-naive", "all-balance"})];
    } else if (key == "warm_start") {
      options.warm_start = boolean(node, key);
    } else {
      return false;
    }
    return true;
  }

  bool apply_objective(const std::string& key, const toml::node& node, RunOptions& options) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (key == "estimator") {
      const std::vector<std::string> names = {"ips", "clipped", "snips", "ips-ix", "additive"};
      options.estimator = parse_learning_estimator(names[choice(node, key, names)]);
    } else if (key == "penalty") {
      options.penalty = choice(node, key, {"se", "sd"}) == 0 ? Penalty::se : Penalty::sd;
    } else if (key == "lambda_candidates") {
      options.lambda_candidates = numbers(node, key, 0);
    } else if (key == "l2") {
      options.l2 = numbers(node, key, 0);
    } else if (key == "alpha") {
      options.alpha = number(node, key, std::numeric_limits<double>::min(), kMaxNumber);
    } else if (key == "largest_weight") {
      options.largest_weight = number(node, key, std::numeric_limits<double>::min(), kInfinity);
    } else if (key == "bound") {
      const std::vector<double> box = numbers(node, key, -kMaxNumber);
      if (box.size() != 2 || !(box[0] < box[1])) fail(node, key, "wants two numbers, the lower first");
      options.bound = {box[0], box[1]};
    } else if (key == "max_iterations") {
      options.max_iterations = static_cast<int>(integer(node, key, 1, 1'000'000));
    } else if (key == "tolerance") {
      options.tolerance = number(node, key, 0, kMaxNumber);
    } else if (key == "relative_decrease") {
      options.relative_decrease = number(node, key, 0, 1);
    } else {
      return false;
    }
    return true;
  }

  bool apply_bandit(const std::string& key, const toml::node& node, BanditOptions& options) const {
    if (key == "kernel") {
      constexpr std::array kKernels = {KernelKind::linear, KernelKind::polynomial, KernelKind::gaussian};
      options.kernel = kKernels[choice(node, key, {"linear", "polynomial", "gaussian"})];
    } else if (key == "degree") {
      options.degree = static_cast<int>(integer(node, key, 1, kMaxDegree));
    } else if (key == "length") {
      options.length = number(node, key, std::numeric_limits<double>::min(), kMaxNumber);
    } else if (key == "beta") {
      options.beta = choice(node, key, {"rows", "batches"}) == 0 ? BetaRule::rows : BetaRule::batches;
    } else if (key == "encoding") {
      options.encoding = choice(node, key, {"integer", "bits"}) == 0 ? ActionEncoding::integer : ActionEncoding::bits;
    } else if (key == "points") {
      options.points = integer(node, key, 1, kMaxPoints);
    } else if (key == "compare_points") {
      options.compare_points = boolean(node, key);
    } else if (key == "bandit_lambdas") {
      options.lambdas = numbers(node, key, 0);
    } else {
      return false;
    }
    return true;
  }

  void apply_data(const std::string& key, const toml::node& node, RunOptions& options) const {
    if (key == "epsilon") {
      options.epsilon = number(node, key, 0, 1);
    } else if (key == "mixing") {
      options.mixing = choice(node, key, {"label", "joint"}) == 0 ? Mixing::label : Mixing::joint;
    } else if (key == "replays") {
      options.replays = static_cast<int>(integer(node, key, 1, kBlockRows));
      // A context and its replays must fit into a block without a rest.
      if (kBlockRows % options.replays != 0) fail(node, key, fmt::format("wants a divisor of {}", kBlockRows));
    } else if (key == "projection") {
      options.projection = integer(node, key, 0, 1'000'000);
    } else if (key == "bonus") {
      options.bonus = number(node, key, -kMaxNumber, kMaxNumber);
    } else if (key == "unit_length") {
      options.unit_length = boolean(node, key);
    }
  }

  std::string path_;
  toml::table root_;
};

SweepFile::SweepFile(const std::string& path) : path_(path), text_(read_text(path)) {
  reader_ = std::make_unique<Reader>(path_, text_);
  const toml::table& root = reader_->root();
  std::vector<std::string> known = kTopKeys;
  known.insert(known.end(), kOptionKeys.begin(), kOptionKeys.end());
  reader_->require_known(root, known);
  environments_ = reader_->strings("environments");
  std::vector<std::string> variant_keys = kOptionKeys;
  variant_keys.emplace_back("like");
  for (const std::string& name : reader_->strings("methods")) {
    const toml::table* own = reader_->section("method", name);
    if (own != nullptr) reader_->require_known(*own, variant_keys);
    const toml::node* like = own != nullptr ? own->get("like") : nullptr;
    methods_.push_back({name, &find_method(like != nullptr ? reader_->text(*like, "like") : name)});
  }
  for (const char* group : {"environment", "method"}) {
    const toml::node* node = root.get(group);
    if (node == nullptr) continue;
    const toml::table* tables = node->as_table();
    if (tables == nullptr) reader_->fail(*node, group, fmt::format("wants tables such as [{}.NAME]", group));
    for (const auto& [key, table] : *tables) {
      const std::string name(key.str());
      const auto same = [&name](const SweepMethod& method) { return method.name == name; };
      const bool used = group[0] == 'e'
                            ? std::find(environments_.begin(), environments_.end(), name) != environments_.end()
                            : std::any_of(methods_.begin(), methods_.end(), same);
      if (!used) reader_->fail(table, name, fmt::format("this table is about no {} of the list", group));
      if (!table.is_table()) reader_->fail(table, name, "wants a table");
      if (group[0] == 'e') reader_->require_known(*table.as_table(), kOptionKeys);
    }
  }
  seeds_ = reader_->seeds();
  const toml::node* folder = root.get("data_dir");
  const char* variable = std::getenv("SCRM_DATA_DIR");
  if (folder) {
    data_dir_ = resolved(reader_->text(*folder, "data_dir"));
  } else {
    data_dir_ = variable != nullptr && *variable != '\0' ? variable : kDefaultDataDir;
  }
  for (const std::string& environment : environments_) {
    for (const SweepMethod& method : methods_) options({}, environment, method.name);  // complains now, not later
  }
}

SweepFile::~SweepFile() = default;
SweepFile::SweepFile(SweepFile&&) noexcept = default;
SweepFile& SweepFile::operator=(SweepFile&&) noexcept = default;

RunOptions SweepFile::options(const RunOptions& defaults, const std::string& environment,
                              const std::string& method) const {
  RunOptions options = defaults;
  reader_->apply(reader_->root(), options);
  if (const toml::table* own = reader_->section("environment", environment)) reader_->apply(*own, options);
  if (const toml::table* own = reader_->section("method", method)) reader_->apply(*own, options);
  if (options.estimator == LearningEstimator::additive && options.past == PastRollouts::balance) {
    throw Error(ErrorKind::usage,
                fmt::format("{} / {}: the balance heuristic mixes probabilities of whole actions, and the additive "
                            "estimator needs those of single labels; use past = \"all-naive\" or another estimator",
                            environment, method),
                {.file = path_});
  }
  const BatchPlan& batches = options.batches;
  // The batch behind the last counts too: regret is charged for it.
  const std::int64_t firsts = BatchPlan{1, batches.growth}.begin(options.rollouts + 1);
  if (batches.first > kMaxRows / firsts) {
    throw Error(ErrorKind::usage,
                fmt::format("{} / {}: rollouts = {} with first_batch = {} are more rows than any machine can go "
                            "through; take fewer rollouts, a smaller first batch or growth = \"linear\"",
                            environment, method, options.rollouts, batches.first),
                {.file = path_});
  }
  return options;
}

std::string SweepFile::resolved(const std::string& path) const {
  std::error_code ignored;
  const std::filesystem::path beside = std::filesystem::path(path_).parent_path() / path;
  return std::filesystem::exists(beside, ignored) ? beside.string() : path;
}

}  // namespace scrm
