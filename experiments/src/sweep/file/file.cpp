#include "scrm/experiments/sweep_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/limited_text.hpp"
#include "scrm/io/file/spelling.hpp"
#include "sweep/file/options.hpp"
#include "sweep/file/toml_value.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kMaxSeeds = 1'000'000;
// 2^50 rows and more cannot be meant, and would overflow what counts them.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 50;
const char* kDefaultDataDir = "./data";

// Far more than any sweep needs, and little beside the smallest budget once it is parsed.
constexpr std::size_t kMostText = std::size_t{1} << 20;

std::string read_text(const std::string& path) {
  std::string text = read_limited_text(path, kMostText, "sweep file");
  if (text.empty()) throw Error(ErrorKind::file, "the sweep file is empty", {.file = path});
  return text;
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

  TomlValue value(const toml::node& node, const std::string& key) const { return {node, key, path_}; }

  const toml::table& root() const { return root_; }

  /// The table [group.name], empty when there is none.
  const toml::table* section(const char* group, const std::string& name) const {
    const toml::table* all = root_[group].as_table();
    return all != nullptr && all->contains(name) ? all->at(name).as_table() : nullptr;
  }

  /// Whether the file sets this option of an environment and a method, anywhere.
  bool is_given(const std::string& key, const std::string& environment, const std::string& method) const {
    const toml::table* tables[] = {&root_, section("environment", environment), section("method", method)};
    return std::any_of(std::begin(tables), std::end(tables),
                       [&](const toml::table* table) { return table != nullptr && table->contains(key); });
  }

  void require_known(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string meant = did_you_mean(name, known, "");
      value(node, name)
          .fail("there is no such key; " +
                (meant.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : meant));
    }
  }

  std::vector<std::string> strings(const std::string& key) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} is missing; write for instance {}", key,
                              key == "methods" ? "methods = [\"crm\", \"scrm\"]" : "environments = [\"pricing\"]"),
                  {.file = path_});
    }
    return value(*node, key).names();
  }

  std::vector<std::int64_t> seeds() const {
    const toml::node* node = root_.get("seeds");
    if (node == nullptr) return {0};
    const TomlValue given = value(*node, "seeds");
    std::vector<std::int64_t> out;
    if (given.is_list()) {
      for (const TomlValue& item : given.items()) {
        out.push_back(item.integer(0, std::numeric_limits<std::int64_t>::max()));
        if (std::count(out.begin(), out.end(), out.back()) > 1) item.fail("a seed comes twice");
      }
      return out;
    }
    out.resize(static_cast<std::size_t>(given.integer(1, kMaxSeeds)));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }

  void apply(const toml::table& table, RunOptions& options) const {
    const bool own_lambda = options.lambdas.front().kind == LambdaKind::log_rows && &table == &root_;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name != "lambdas" || !own_lambda) read_option(name, value(node, name), options);
    }
  }

 private:
  std::string path_;
  toml::table root_;
};

SweepFile::SweepFile(const std::string& path) : path_(path), text_(read_text(path)) {
  reader_ = std::make_unique<Reader>(path_, text_);
  const toml::table& root = reader_->root();
  std::vector<std::string> known = sweep_keys(true);
  known.insert(known.end(), {"environment", "method"});
  reader_->require_known(root, known);
  environments_ = reader_->strings("environments");
  std::vector<std::string> variant_keys = sweep_keys(false);
  variant_keys.emplace_back("like");
  for (const std::string& name : reader_->strings("methods")) {
    const toml::table* own = reader_->section("method", name);
    if (own != nullptr) reader_->require_known(*own, variant_keys);
    const toml::node* like = own != nullptr ? own->get("like") : nullptr;
    methods_.push_back({name, &find_method(like != nullptr ? reader_->value(*like, "like").text() : name)});
  }
  for (const char* group : {"environment", "method"}) {
    const toml::node* node = root.get(group);
    if (node == nullptr) continue;
    const toml::table* tables = node->as_table();
    if (tables == nullptr) reader_->value(*node, group).fail(fmt::format("wants tables such as [{}.NAME]", group));
    for (const auto& [key, table] : *tables) {
      const std::string name(key.str());
      const auto same = [&name](const SweepMethod& method) { return method.name == name; };
      const bool used = group[0] == 'e'
                            ? std::find(environments_.begin(), environments_.end(), name) != environments_.end()
                            : std::any_of(methods_.begin(), methods_.end(), same);
      if (!used) reader_->value(table, name).fail(fmt::format("this table is about no {} of the list", group));
      if (!table.is_table()) reader_->value(table, name).fail("wants a table");
      if (group[0] == 'e') reader_->require_known(*table.as_table(), sweep_keys(false));
    }
  }
  seeds_ = reader_->seeds();
  const toml::node* folder = root.get("data_dir");
  data_dir_ = labelled_data_dir(
      path_, folder != nullptr ? std::optional(reader_->value(*folder, "data_dir").text()) : std::nullopt);
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
  const bool balanced = options.past == PastRollouts::balance;
  // Where nobody asked for the balance heuristic, it is an environment's default that gives way: to estimators of
  // single labels, whose mixtures are biased, and to what the released code does.
  if (balanced && !reader_->is_given("past", environment, method) &&
      (options.estimator->label_sums || options.protocol == Protocol::published)) {
    options.past = PastRollouts::naive;
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

std::string path_beside(const std::string& file, const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / path;
  return std::filesystem::exists(beside, ignored) ? beside.string() : path;
}

std::string labelled_data_dir(const std::string& file, const std::optional<std::string>& named) {
  if (named) return path_beside(file, *named);
  const char* variable = std::getenv("SCRM_DATA_DIR");
  return variable != nullptr && *variable != '\0' ? variable : kDefaultDataDir;
}

}  // namespace scrm
