// labels: fast
#include "reproduce/request.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "scrm/experiments/sweep_file.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<SweepRequest> all_requests(const ReproduceOptions& options) {
  std::vector<SweepRequest> requests = {continuous_request(options), distance_request(options)};
  for (const std::string& protocol : options.protocols) {
    requests.push_back(gaussian_request(options, protocol, false));
    requests.push_back(gaussian_request(options, protocol, true));
    for (const char* data_set : {"scene", "yeast", "tmc2007"}) {
      requests.push_back(labelled_request(options, data_set, protocol));
      requests.push_back(bandit_request(options, data_set, protocol));
    }
  }
  return requests;
}

}  // namespace

TEST_CASE("requests: every text is a sweep file, quick or not, and no two have one name") {
  const Folder folder;
  for (const bool quick : {false, true}) {
    ReproduceOptions options;
    options.quick = quick;
    options.data_dir = "a \"quoted\" \\ folder";
    std::set<std::string> names;
    for (const SweepRequest& request : all_requests(options)) {
      CAPTURE(request.text);
      const std::string path = folder / (request.name + ".toml");
      write_bytes(path, request.text);
      const SweepFile file(path);
      CHECK(!file.methods().empty());
      CHECK(names.insert(request.name).second);
      if (request.text.find("data_dir") != std::string::npos) CHECK(file.data_dir() == options.data_dir);
    }
  }
}

TEST_CASE("requests: a start at a distance has the method, the distance and the spread that its name says") {
  const Folder folder;
  const ReproduceOptions options;
  write_bytes(folder / "d.toml", distance_request(options).text);
  const SweepFile file(folder / "d.toml");
  CHECK(file.methods().size() == 2 * distances(options).size() * spreads(options).size());
  const RunOptions run = file.options({}, "gaussian", distance_method("scrm", 30, 0.1));
  CHECK(run.start == 31);
  CHECK(run.scale == 0.1);
  CHECK(run.bound == std::pair(-99.0, 101.0));
}

TEST_CASE("requests: the paper's methods keep the paper's objective, whatever environments have by default") {
  const Folder folder;
  ReproduceOptions options;
  options.data_dir = "data";
  RunOptions defaults;
  defaults.estimator = &kDmEstimator;
  for (const char* data_set : {"scene", "yeast", "tmc2007"}) {
    for (const char* protocol : {"paper", "published"}) {
      write_bytes(folder / "l.toml", labelled_request(options, data_set, protocol).text);
      const SweepFile file(folder / "l.toml");
      for (const char* method : {"crm", "scrm"}) {
        const RunOptions run = file.options(defaults, data_set, method);
        CHECK(std::string(run.estimator->name) == "snips");
        CHECK(run.past == PastRollouts::naive);
      }
    }
  }
}
