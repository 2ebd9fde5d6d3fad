#include "reproduce/paper_results.hpp"

namespace scrm {
namespace {

struct LossEntry {
  const char* method;
  const char* environment;
  PaperResult result;
};

constexpr LossEntry kLosses[] = {
    {"baseline", "pricing", {-3.414, .162}},
    {"baseline", "advertising", {-.431, .120}},
    {"baseline", "scene", {.353, .009}},
    {"baseline", "yeast", {.478, .014}},
    {"baseline", "tmc2007", {.511, .003}},
    {"sbpe", "scene", {.179, .001}},
    {"sbpe", "yeast", {.302, .003}},
    {"bkucb", "scene", {.236, .014}},
    {"bkucb", "yeast", {.303, .004}},
    {"trpo", "pricing", {-5.750, .020}},
    {"trpo", "advertising", {-.670, .030}},
    {"trpo", "scene", {.376, .001}},
    {"trpo", "yeast", {.434, .001}},
    {"trpo", "tmc2007", {.396, .001}},
    {"ppo", "pricing", {-5.274, .200}},
    {"ppo", "advertising", {-.637, .015}},
    {"ppo", "scene", {.206, .001}},
    {"ppo", "yeast", {.463, .001}},
    {"ppo", "tmc2007", {.263, .001}},
    {"crm", "pricing", {-5.325, .068}},
    {"crm", "advertising", {-.594, .100}},
    {"crm", "scene", {.233, .031}},
    {"crm", "yeast", {.362, .044}},
    {"crm", "tmc2007", {.158, .034}},
    {"scrm", "pricing", {-5.575, .036}},
    {"scrm", "advertising", {-.726, .020}},
    {"scrm", "scene", {.219, .009}},
    {"scrm", "yeast", {.294, .026}},
    {"scrm", "tmc2007", {.146, .012}},
    {"skyline", "pricing", {-5.830, .020}},
    {"skyline", "advertising", {-.739, .002}},
    {"skyline", "scene", {.179, .002}},
    {"skyline", "yeast", {.312, .003}},
    {"skyline", "tmc2007", {.142, .001}},
};

constexpr const char* kUnfinished[][2] = {{"sbpe", "pricing"},  {"sbpe", "advertising"},  {"sbpe", "tmc2007"},
                                          {"bkucb", "pricing"}, {"bkucb", "advertising"}, {"bkucb", "tmc2007"}};

struct LambdaEntry {
  const char* environment;
  PaperResult fixed, automatic;
};

constexpr LambdaEntry kLambdas[] = {
    {"pricing", {-5.353, .178}, {-5.575, .036}},
    {"advertising", {-.716, .020}, {-.726, .001}},
    {"yeast", {.294, .026}, {.299, .039}},
    {"tmc2007", {.146, .012}, {.164, .021}},
};

struct RowsEntry {
  const char* method;
  double share;
  PaperRows rows;
};

constexpr RowsEntry kRows[] = {
    {"crm", .7, {10}}, {"crm", .8, {16}}, {"crm", .9, {22, true}},
    {"scrm", .7, {8}}, {"scrm", .8, {9}}, {"scrm", .9, {11}},
};

}  // namespace

std::optional<PaperResult> paper_loss(const std::string& environment, const std::string& method) {
  for (const LossEntry& entry : kLosses) {
    if (environment == entry.environment && method == entry.method) return entry.result;
  }
  return std::nullopt;
}

bool paper_did_not_finish(const std::string& environment, const std::string& method) {
  for (const auto& [name, place] : kUnfinished) {
    if (method == name && environment == place) return true;
  }
  return false;
}

std::optional<PaperResult> paper_lambda(const std::string& environment, bool automatic) {
  for (const LambdaEntry& entry : kLambdas) {
    if (environment == entry.environment) return automatic ? entry.automatic : entry.fixed;
  }
  return std::nullopt;
}

std::optional<PaperRows> paper_rows(const std::string& method, double share) {
  for (const RowsEntry& entry : kRows) {
    if (method == entry.method && share == entry.share) return entry.rows;
  }
  return std::nullopt;
}

}  // namespace scrm
