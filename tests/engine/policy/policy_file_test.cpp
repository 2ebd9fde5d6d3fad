// labels: fast io
#include "scrm/engine/policy/policy_kind.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "scrm/io/file/error.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;
using scrm::Policy;
using scrm::PolicyKind;
using scrm::testing::holds;

struct Folder : scrm::testing::Folder {
  std::string file(const std::string& text) const {
    scrm::testing::write_bytes(*this / "p.toml", text);
    return *this / "p.toml";
  }
};

Policy read(const std::string& text) {
  return scrm::read_policy(Folder().file(text));
}

/// What reading this text complains about.
std::string complaint(const std::string& text) {
  const Folder folder;
  const std::string file = folder.file(text);
  try {
    scrm::read_policy(file);
  } catch (const scrm::Error& error) {
    CHECK(error.kind() == scrm::ErrorKind::data);
    CHECK(error.place().file == file);
    const std::string message = error.what();
    REQUIRE(message.find(file + ": ") == 0);
    return message.substr(file.size() + 2);
  }
  FAIL("no error for: " << text);
  return {};
}

bool begins(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

}  // namespace

TEST_CASE("a policy file: every key is read") {
  const Policy gaussian =
      read("kind = \"gaussian\"\nfeatures = \"linear\"\nscale = 0.5\nepsilon = 0.0\ntheta = [1, 0.25, -3e-2]\n");
  CHECK(gaussian.kind == PolicyKind::gaussian);
  CHECK(gaussian.scale == 0.5);
  CHECK(gaussian.outputs == 1);
  CHECK(gaussian.theta == std::vector<double>{1, 0.25, -0.03});

  const Policy labels = read("kind='multilabel'\nmixing='label'\nepsilon=0.1\nscale=2\ntheta=[[1,2],[3,4],[5,6]]");
  CHECK(labels.kind == PolicyKind::multilabel);
  CHECK(labels.mixing == scrm::Mixing::label);
  CHECK(labels.outputs == 3);
  CHECK(labels.row_length() == 2);
  CHECK(labels.theta == std::vector<double>{1, 2, 3, 4, 5, 6});

  const Policy quadratic = read("kind='lognormal'\nfeatures='quadratic'\nscale=1\ntheta=[1,2,3,4,5,6]");
  CHECK(quadratic.features == scrm::FeatureMap::quadratic);
  CHECK(read("kind='softmax'\ntheta=[[7]]").outputs == 1);
  const Policy uniform = read("kind = 'uniform'");
  CHECK(uniform.outputs == 0);
  CHECK(uniform.theta.empty());
  CHECK(uniform.row_length() == 0);
}

TEST_CASE("a policy file: what is written reads back to the same bits") {
  const Folder folder;
  const std::string name = folder / "out.toml";
  Policy policy;
  policy.kind = PolicyKind::gaussian;
  policy.scale = 1.0 / 3.0;
  policy.theta = {0.1, -0.0, 1e300, 5e-324, 123456789.0, std::nextafter(1.0, 2.0)};
  scrm::write_policy(name, policy, "learned by hand\n\nfrom nothing");
  Policy back = scrm::read_policy(name);
  CHECK(back.scale == policy.scale);
  CHECK(back.theta == policy.theta);
  CHECK(std::signbit(back.theta[1]));

  policy.kind = PolicyKind::multilabel;
  policy.features = scrm::FeatureMap::quadratic;
  policy.mixing = scrm::Mixing::label;
  policy.epsilon = 0.125;
  policy.outputs = 2;
  scrm::write_policy(name, policy);
  back = scrm::read_policy(name);
  CHECK(back.outputs == 2);
  CHECK(back.theta == policy.theta);
  CHECK(back.mixing == scrm::Mixing::label);
  CHECK(back.epsilon == 0.125);

  policy = Policy{};
  policy.kind = PolicyKind::uniform;
  policy.outputs = 0;
  policy.training = scrm::Training{.rows = 12, .sample = 7, .shards = {{5, 3}, {7, ~std::uint64_t{0}}}};
  scrm::write_policy(name, policy);
  back = scrm::read_policy(name);
  CHECK(back.kind == PolicyKind::uniform);
  REQUIRE(back.training);
  CHECK(back.training->sample == policy.training->sample);
  CHECK(back.training->shards == policy.training->shards);
}

TEST_CASE("a policy file: the text is the one a person would write") {
  Policy policy;
  policy.scale = 0.5;
  policy.theta = {1, 0.2};
  CHECK(scrm::policy_text(policy, "two\nlines") ==
        "# two\n# lines\nkind     = \"gaussian\"\nfeatures = \"linear\"\nscale    = 0.5\ntheta    = [1.0, 0.2]\n");
}

TEST_CASE("a policy file: what cannot be read back is not written") {
  const Folder folder;
  const std::string name = folder / "out.toml";
  Policy policy;
  policy.theta = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK_THROWS_WITH_AS(scrm::write_policy(name, policy), doctest::Contains("theta has the value nan"), scrm::Error);
  policy.theta = {1, 2, 3};
  policy.outputs = 2;
  CHECK_THROWS_WITH_AS(scrm::write_policy(name, policy), doctest::Contains("3 numbers make no 2 equal rows of theta"),
                       scrm::Error);
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a policy file: mistakes are named by line and key") {
  CHECK(begins(complaint("scale = 1\nkind = 'gausian'\ntheta = [1]"), "line 2: kind: 'gausian' is not known"));
  CHECK(holds(complaint("kind = 'gausian'"), "did you mean 'gaussian'?"));
  CHECK(holds(complaint("kind = 'xyzzy'"), "gaussian, lognormal, softmax, multilabel, uniform"));
  CHECK(begins(complaint("kind = 3"), "line 1: kind: must be a word"));
  CHECK(begins(complaint("scale = 1"), "kind: is missing"));
  CHECK(begins(complaint(""), "kind: is missing"));
  CHECK(begins(complaint("kind='gaussian'\nscale=1\n\nthetta=[1]"), "line 4: thetta: policies have no such key"));
  CHECK(holds(complaint("kind='gaussian'\nscale=1\nthetta=[1]"), "did you mean 'theta'?"));
  CHECK(begins(complaint("kind='gaussian'\nscale=1"), "theta: is missing"));
  CHECK(begins(complaint("kind='gaussian'\ntheta=[1]"), "scale: is missing"));
  CHECK(begins(complaint("kind='gaussian'\nscale=0\ntheta=[1]"), "line 2: scale: must be above zero, not 0"));
  CHECK(begins(complaint("kind='gaussian'\nscale=nan\ntheta=[1]"), "line 2: scale: must be a finite number"));
  CHECK(begins(complaint("kind='gaussian'\nscale='1'\ntheta=[1]"), "line 2: scale: must be a number"));
  CHECK(begins(complaint("kind='softmax'\nscale=-1\ntheta=[[1]]"), "line 2: scale: must be above zero"));
  CHECK(begins(complaint("kind='softmax'\nepsilon=1\ntheta=[[1]]"), "line 2: epsilon: must be at least 0 and below 1"));
  CHECK(begins(complaint("kind='softmax'\nepsilon=-0.1\ntheta=[[1]]"), "line 2: epsilon:"));
  CHECK(begins(complaint("kind='gaussian'\nscale=1\nepsilon=0.1\ntheta=[1]"), "line 3: epsilon:"));
  CHECK(begins(complaint("kind='softmax'\nmixing='label'\ntheta=[[1]]"), "line 2: mixing: belongs to multilabel"));
  CHECK(begins(complaint("kind='multilabel'\nmixing='labels'\ntheta=[[1]]"), "line 2: mixing: 'labels' is not known"));
  CHECK(begins(complaint("kind='softmax'\nfeatures='cubic'\ntheta=[[1]]"), "line 2: features: 'cubic' is not known"));
}

TEST_CASE("a policy file: a wrong theta is named by line and place") {
  const std::string gaussian = "kind='gaussian'\nscale=1\n";
  CHECK(begins(complaint(gaussian + "theta=[]"), "line 3: theta: is empty"));
  CHECK(begins(complaint(gaussian + "theta=1"), "line 3: theta: must be a list"));
  CHECK(begins(complaint(gaussian + "theta=[1,\n2,\n'x']"), "line 5: theta[2]: must be a number"));
  CHECK(begins(complaint(gaussian + "theta=[1,inf]"), "line 3: theta[1]: must be a finite number, not inf"));
  CHECK(begins(complaint(gaussian + "theta=[[1,2]]"), "line 3: theta: gaussian policies need one flat list"));
  CHECK(begins(complaint("kind='softmax'\ntheta=[1,2]"), "line 2: theta: softmax policies need a list of rows"));
  CHECK(
      begins(complaint("kind='softmax'\ntheta=[[1,2],\n[1]]"), "line 3: theta[1]: has 1 number where theta[0] has 2"));
  CHECK(begins(complaint("kind='softmax'\ntheta=[[1,2],[]]"), "line 2: theta[1]: is empty"));
  CHECK(begins(complaint("kind='softmax'\ntheta=[[1,true]]"), "line 2: theta[0][1]: must be a number"));
  for (const char* shards : {"1", "[1]", "[[1]]", "[[1, 2, 3]]", "[[-1, 2]]", "[[1, 2.5]]", "['a']"}) {
    const std::string said = complaint("kind='uniform'\n[training]\nrows=1\nshards=" + std::string(shards));
    CHECK_MESSAGE(begins(said, "line 4: training.shards"), shards);
  }
  CHECK(begins(complaint("kind='uniform'\ntheta=[1]"), "line 2: theta: uniform policies have none"));
  const std::string quadratic = complaint("kind='gaussian'\nscale=1\nfeatures='quadratic'\ntheta=[1,2,3,4]");
  CHECK(begins(quadratic, "line 4: theta: 4 numbers fit no quadratic map"));
  CHECK(holds(quadratic, "3 for 1 features, 6 for 2"));
}

TEST_CASE("a policy file: broken TOML is named by line") {
  CHECK(begins(complaint("kind = 'gaussian'\nscale = \ntheta=[1]"), "line 2, column "));
  CHECK(begins(complaint("kind = 'softmax'\nkind = 'softmax'"), "line 2, column "));
  CHECK(holds(complaint("theta = [1, 2"), "not valid TOML"));
}

TEST_CASE("a policy file: one that is not there, or is a folder, is a file error") {
  const Folder folder;
  for (const fs::path& path : {folder.path / "none.toml", folder.path}) {
    try {
      scrm::read_policy(path.string());
      FAIL("no error");
    } catch (const scrm::Error& error) {
      CHECK(error.kind() == scrm::ErrorKind::file);
      CHECK(holds(error.what(), path.string()));
    }
  }
}
