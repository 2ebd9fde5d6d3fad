// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/rows/h5py_shards.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct Reading {
  Audit audit;
  std::int64_t kept = 0;
  bool finite = true;  ///< all that a block shows, the rows after the last included
  std::vector<double> losses;
};

Reading read_all(const std::string& path, const ReadOptions& options = {}) {
  Dataset data({path}, options);
  BlockBuffer buffer(data.schema());
  Reading result;
  const auto raw = data.fetch(0, data.rows());
  for (std::int64_t first = 0; first < data.rows(); first += kBlockRows) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, data.rows() - first));
    Audit audit;
    const int rows = raw->decode(first, count, buffer, audit);
    result.audit.merge(audit);
    result.kept += rows;
    for (int i = 0; i < kBlockRows; ++i) {
      result.finite = result.finite && std::isfinite(buffer.loss()[i]) && std::isfinite(buffer.propensity()[i]);
      for (std::int64_t j = 0; j < data.schema().features && !data.schema().sparse; ++j) {
        result.finite = result.finite && std::isfinite(buffer.context_f64()[j * kBlockRows + i]);
      }
    }
    result.losses.insert(result.losses.end(), buffer.loss(), buffer.loss() + rows);
  }
  return result;
}

std::int64_t count(const Reading& reading, BadRowReason reason) {
  return reading.audit.counts[static_cast<std::size_t>(reason)];
}

std::string bad_row_complaint(const Audit& audit) {
  return complaint([&] { require_no_bad_rows(audit); });
}

}  // namespace

TEST_CASE("audit: each bad row is left out once, under its first reason, and the rest stays in order") {
  const Folder folder;
  run_python(folder, R"(
n = 5000
c = usual(n, 5)
c['propensity'][[5, 3000]] = 0; c['propensity'][7] = -1; c['propensity'][4999] = np.nan; c['propensity'][4998] = np.inf
c['propensity'][10] = 7.5  # a density
c['action'][[20, 21]] = np.inf; c['loss'][2048] = np.nan; c['loss'][5] = np.nan
c['context'][100, 3] = np.nan; c['context'][100, 1] = -np.inf; c['context'][21, 0] = np.nan; c['context'][2047, 4] = np.inf
c['target/t'] = prop(n); c['target/t'][[0, 50, 51]] = [0, -0.1, np.nan]; c['target/t'][52] = 3
shard('a.h5', c, how=lambda v: dict(chunks=(700,) + v.shape[1:], compression='gzip'))
)");
  const Reading plain = read_all(folder / "a.h5");
  CHECK(count(plain, BadRowReason::propensity_not_positive) == 3);
  CHECK(count(plain, BadRowReason::propensity_not_finite) == 2);
  CHECK(count(plain, BadRowReason::probability_above_one) == 0);
  CHECK(count(plain, BadRowReason::action_not_finite) == 2);
  CHECK(count(plain, BadRowReason::loss_not_finite) == 1);
  CHECK(count(plain, BadRowReason::context_not_finite) == 2);
  CHECK(count(plain, BadRowReason::target_not_valid) == 0);
  CHECK(plain.audit.bad_rows() == 10);
  CHECK(plain.kept == 4990);
  CHECK(plain.finite);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const std::vector<std::int64_t> bad = {5, 7, 20, 21, 100, 2047, 2048, 3000, 4998, 4999};
    if (std::find(bad.begin(), bad.end(), i) == bad.end()) expected.push_back(loss_value(i));
  }
  CHECK(plain.losses == expected);
  CHECK(bad_row_complaint(plain.audit) ==
        folder /
            "a.h5: propensity, row 5: 0 is not above zero (10 bad rows in all; --skip-bad-rows goes on without them)");

  const Reading target = read_all(folder / "a.h5", {.targets = {"t"}});
  CHECK(count(target, BadRowReason::target_not_valid) == 2);
  CHECK(target.kept == 4988);
}

TEST_CASE("audit: categorical and multilabel probabilities, actions and labels") {
  const Folder folder;
  run_python(folder, R"(
n = 3000
p = prop(n, 'f4'); p[3] = 1 + 5e-7; p[4] = 1.001; p[9] = 1e-45
a = cat(n, 5); a[[8, 2500]] = [-1, 5]; a[2501] = 2**40
shard('category.h5', dict(context=ctx(n, 2), action=a, loss=loss(n), propensity=p), 'categorical', num_actions=5)
l = np.log(prop(n)); l[1] = -np.inf; l[2] = np.nan; l[3] = 0.01; l[4] = 4e-7; l[5] = np.inf
shard('log.h5', dict(context=ctx(n, 2), action=cat(n, 5), loss=loss(n), log_propensity=l), 'categorical', num_actions=5)
shard('density.h5', dict(context=ctx(n, 2), action=act(n), loss=loss(n), log_propensity=l))
b = bits(n, 4, 'i4'); b[11, 2] = 2; b[12, 3] = -1; b[13, 0] = 257
v = labels(n, 4); v[20, 1] = 0; v[21, 2] = 1.5; v[22, 3] = np.nan; v[23] = 1
shard('label.h5', dict(context=ctx(n, 2), action=b, loss=loss(n), label_propensity=v), 'multilabel')
)");
  const Reading category = read_all(folder / "category.h5");
  CHECK(count(category, BadRowReason::probability_above_one) == 1);
  CHECK(count(category, BadRowReason::action_out_of_range) == 3);
  CHECK(category.kept == 2996);
  CHECK(category.audit.first->row == 4);
  CHECK(category.audit.first->dataset == "propensity");

  const Reading logs = read_all(folder / "log.h5");
  CHECK(count(logs, BadRowReason::propensity_not_positive) == 1);
  CHECK(count(logs, BadRowReason::propensity_not_finite) == 2);
  CHECK(count(logs, BadRowReason::probability_above_one) == 1);
  CHECK(logs.finite);
  CHECK(bad_row_complaint(logs.audit).find("log_propensity, row 1: -inf is the logarithm of") != std::string::npos);
  CHECK(read_all(folder / "density.h5").audit.bad_rows() == 3);

  const Reading label = read_all(folder / "label.h5");
  CHECK(count(label, BadRowReason::action_out_of_range) == 3);
  CHECK(count(label, BadRowReason::propensity_not_positive) == 1);
  CHECK(count(label, BadRowReason::probability_above_one) == 1);
  CHECK(count(label, BadRowReason::propensity_not_finite) == 1);
  CHECK(label.finite);
  CHECK(label.audit.first->dataset == "action[:, 2]");
  CHECK(label.audit.first->row == 11);
  CHECK(label.audit.first->value == 2);
}

TEST_CASE("audit: sparse rows close their gaps when one is left out") {
  const Folder folder;
  run_python(folder, R"(
n = 3000
with h5py.File('s.h5', 'w') as f:
    attrs(f)
    for k, v in usual(n, None).items(): f[k] = v
    g = f.create_group('context'); g.attrs['num_features'] = 10
    g['indptr'] = np.arange(n + 1) * 2; v = np.arange(2 * n) / 4; v[[9, 5001]] = np.nan
    g['indices'] = np.arange(2 * n, dtype='i4') % 10; g['values'] = v
)");
  Dataset data({folder / "s.h5"}, {});
  BlockBuffer buffer(data.schema());
  Audit audit;
  const auto raw = data.fetch(0, 3000);
  CHECK(raw->decode(0, 2048, buffer, audit) == 2047);
  for (int i = 0; i < 2047; ++i) {
    const int row = i < 4 ? i : i + 1;
    REQUIRE(buffer.indptr()[i + 1] == 2 * (i + 1));
    REQUIRE(buffer.values()[static_cast<std::size_t>(2 * i)] == row * 0.5);
    REQUIRE(buffer.indices()[static_cast<std::size_t>(2 * i + 1)] == (2 * row + 1) % 10);
  }
  CHECK(raw->decode(2048, 952, buffer, audit) == 951);
  CHECK(audit.counts[static_cast<std::size_t>(BadRowReason::context_not_finite)] == 2);
  CHECK(audit.first->dataset == "context/values");
  CHECK(audit.first->row == 4);
}

TEST_CASE("audit: a rewarded loss is reported as the file holds it") {
  const Folder folder;
  run_python(folder, "c = usual(10); c['loss'][3] = np.inf; shard('a.h5', c)");
  const Reading reading = read_all(folder / "a.h5", {.reward = true});
  CHECK(reading.audit.first->value > 0);
  CHECK(bad_row_complaint(reading.audit) ==
        folder / "a.h5: loss, row 3: inf is not finite (1 bad row in all; --skip-bad-rows goes on without it)");
  CHECK(reading.losses.front() == -loss_value(0));
}
