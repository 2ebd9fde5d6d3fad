"""evaluate: every kind of interval agrees with a plain NumPy and SciPy version of its formula, or says why not."""
# labels: slow cli

import math

import h5py
import numpy as np
from scipy import stats

from harness import ProgramTest, main, run, run_json, write_log
from interval_formulas import automatic, draw, expected_of, left_out, likelihood, mixture_boundary, terms

Z = stats.norm.ppf(0.975)


class Intervals(ProgramTest):
    def log(self, rows, seed=0, name="a.h5", outcome=None, cluster=None, **options):
        p, t, a, y = draw(rows, seed, **options)
        extra = {} if cluster is None else {"cluster": cluster}
        data = write_log(self.dir / name, action_kind="categorical", num_actions=10, action=a, loss=y, propensity=p,
                         targets={"new": t}, attributes={"outcome": outcome} if outcome else None, **extra)
        return data, t / p, y

    def found(self, data, *options):
        report = run_json("evaluate", data, "--target", "new", *options)
        policy = report["policies"][0]
        return ({one["estimator"]: one for one in policy["estimates"]},
                {one["estimator"]: one for one in policy["difference"]["estimates"]}, report)

    def assert_ends(self, one, low, high, tolerance=1e-10, message=None):
        for found, expected in ((one["low"], low), (one["high"], high)):
            self.assertAlmostEqual(found / expected if abs(expected) > 1e-3 else found - expected + 1, 1, delta=tolerance,
                                   msg=(message, one, low, high))

    def test_auto_is_normal_where_that_is_right_and_wider_where_rows_are_few(self):
        for rows, rate, seed in ((400, 0.3, 1), (400, 0.02, 2), (150, 0.05, 3), (20_000, 0.3, 4)):
            data, w, y = self.log(rows, seed, rate=rate)
            values, differences, report = self.found(data)
            self.assertEqual(report["interval"], {"kind": "auto", "level": 0.95})
            for name, (value, d, error) in terms(w, y).items():
                ratio = {"plain": d, "rows": rows} if name == "snips" else {}
                self.assert_ends(values[name],
                                 *automatic(value, error, left_out(name, w, y), foreseen=expected_of(name, w, y), **ratio),
                                 message=(rows, rate, name))
            snips, d, _ = terms(w, y)["snips"]
            both = d - (y - y.mean())
            self.assert_ends(differences["snips"],
                             *automatic(snips - y.mean(), math.sqrt((both**2).sum()) / rows,
                                        left_out("snips", w, y, difference=True), own=left_out("snips", w, y),
                                        foreseen=expected_of("snips", w, y, 1), plain=both, rows=rows))
            cut = np.minimum(w, np.sort(w)[-5])
            ips, d, _ = terms(w, y)["ips"]
            foreseen = expected_of("ips", w, y)
            kept = cut * y - (cut * y).mean()
            ratios = [abs((kept**j).sum() / (kept**2).sum() ** (j / 2) / ((d**j).sum() / (d**2).sum() ** (j / 2)))
                      for j in (3, 4)]
            low, high = automatic((cut * y).mean(), (cut * y).std(ddof=1) / math.sqrt(rows), kept,
                                  foreseen=np.array(foreseen) * ratios)
            if (cut * y).mean() < ips:  # what was cut off: that far the interval of whole weights counts
                high = max(high, values["ips"]["high"])
            self.assert_ends(values["clipped"], low, high)
        self.assertAlmostEqual((values["ips"]["high"] - values["ips"]["low"]) / (2 * Z * values["ips"]["stderr"]), 1, 3)
        data, w, y = self.log(400, 2, rate=0.02)
        self.assertGreater(self.found(data)[0]["ips"]["high"], self.found(data, "--interval", "normal")[0]["ips"]["high"])

    def test_auto_of_smaller_weights_reaches_as_far_as_that_of_whole_ones_where_some_was_cut_off(self):
        # Four rows have the weight 25 and the others at most 1: --clip is 1, and a tenth of the value is cut off.
        n = 1000
        random = np.random.default_rng(8)
        w = np.where(np.arange(n) < 4, 25.0, 0.9)
        y = 5 + random.normal(size=n)
        for sign, near, far in ((1, "low", "high"), (-1, "high", "low")):
            for baseline in ("logged", "near"):
                data = write_log(self.dir / "cut.h5", action_kind="categorical", num_actions=10,
                                 action=np.zeros(n, np.int32), loss=sign * y, propensity=np.full(n, 0.02),
                                 targets={"new": 0.02 * w, "near": np.full(n, 0.02)})
                report = run_json("evaluate", data, "--target", "new", "--target", "near", "--baseline", baseline)
                policy = next(one for one in report["policies"] if one["name"] == "new")
                for estimates in (policy["estimates"], policy["difference"]["estimates"]):
                    of = {one["estimator"]: one for one in estimates}
                    self.assertGreater(sign * (of["ips"]["value"] - of["clipped"]["value"]), 0.3)
                    for name in ("clipped", "ips-ix"):
                        self.assertEqual(of[name][far], of["ips"][far], (sign, baseline, name))
                        t = stats.t.ppf(0.975, n - 1)
                        plain = of[name]["value"] - sign * t * of[name]["stderr"]
                        self.assertLessEqual(sign * of[name][near], sign * plain + 1e-9)
                        self.assertGreater(sign * of[name][near], sign * plain - 8 * of[name]["stderr"])
                normal = run_json("evaluate", data, "--target", "new", "--interval", "normal")["policies"][0]
                clipped = {one["estimator"]: one for one in normal["estimates"]}["clipped"]
                self.assertAlmostEqual(clipped["high"] - clipped["value"], Z * clipped["stderr"], 12)

    def test_auto_of_many_rows_knows_their_shape_by_groups(self):
        rows = 70_000  # 4 rows a group
        data, w, y = self.log(rows, 5, rate=0.0005)
        values, _, _ = self.found(data)
        for name, (value, d, error) in terms(w, y).items():
            ratio = {"plain": d.reshape(-1, 4).sum(1), "rows": rows} if name == "snips" else {}
            out = left_out(name, w, y, np.arange(rows) // 4)
            self.assert_ends(values[name], *automatic(value, error, out, rows - 1, **ratio), 1e-9, name)

    def test_cressie_read_is_the_optimum_over_measures(self):
        above = below = 0
        for rows, seed in ((7, 0), (60, 1), (61, 3), (62, 4), (3000, 2), (3001, 5)):
            data, w, y = self.log(rows, seed, rate=0.2)
            above, below = above + (w.mean() > 1), below + (w.mean() < 1)
            for bound in (None, 3.0, 10.0, 1e6, 1e15):
                options = ["--interval", "cressie-read", "--outcome-range", "0:1", *(["--max-weight", bound] if bound else [])]
                values, differences, report = self.found(data, *options)
                self.assertIn("losses within [0, 1]", report["interval"]["assumes"])
                top = min(bound or 1e7, 1e7)  # in the limit of ever larger weights
                low, high = likelihood(w, w * y, 1, [(0, 0, 0), (top, 0, top)], 0.95)
                for name in ("ips", "snips", "cressie-read"):
                    self.assert_ends(values[name], max(low, 0), min(high, 1), 1e-10 if bound and bound < 100 else 1e-5, (rows, bound))
                self.assertTrue(values["cressie-read"]["low"] <= values["cressie-read"]["value"] <= values["cressie-read"]["high"])
                self.assertNotIn("clipped", values)
                low, high = likelihood(w - 1, (w - 1) * y, 0, [(-1, -1, 0), (top - 1, 0, top - 1)], 0.95)
                self.assert_ends(differences["ips"], max(low, -1), min(high, 1), 1e-10 if bound and bound < 100 else 1e-5, (rows, bound))

        self.assertTrue(above and below)

    def test_clopper_pearson_is_exact_where_terms_are_zero_or_one(self):
        # The target is the logger: weights are one, and the sum is a number of clicks.
        rows = 500
        y = (np.arange(rows) < 3).astype(float)
        data = write_log(self.dir / "c.h5", action_kind="categorical", num_actions=2, action=np.zeros(rows, np.int32), loss=y,
                         propensity=np.full(rows, 0.5), targets={"new": np.full(rows, 0.5)})
        options = ("--interval", "clopper-pearson", "--outcome-range", "0:1", "--max-weight", 1)
        values, _, _ = self.found(data, *options)
        self.assert_ends(values["ips"], stats.beta.ppf(0.025, 3, rows - 2), stats.beta.ppf(0.975, 4, rows - 3))
        data, w, y = self.log(2000, 3)
        values, differences, _ = self.found(data, *options[:-1], 3)
        k = (w * y).sum() / 3
        self.assert_ends(values["snips"], 3 * stats.beta.ppf(0.025, k, 2000 - k + 1), 3 * stats.beta.ppf(0.975, k + 1, 2000 - k))
        k = ((w - 1) * y + 1).sum() / 3
        self.assert_ends(differences["ips"], -1 + 3 * stats.beta.ppf(0.025, k, 2000 - k + 1),
                         -1 + 3 * stats.beta.ppf(0.975, k + 1, 2000 - k))

    def test_bernstein_takes_the_range_given_and_is_named_for_the_one_seen(self):
        data, w, y = self.log(1000, 4)
        given, _, report = self.found(data, "--interval", "bernstein", "--outcome-range", "0:1", "--max-weight", 3)
        log = math.log(2 / 0.05)
        for name, reach in (("ips", 3.0), ("snips", 3 / w.mean())):
            value, _, error = terms(w, y)[name]
            half = math.sqrt(2 * log) * error + 7 * reach * log / (3 * 999)
            self.assert_ends(given[name], max(value - half, 0), min(value + half, 1))
        self.assertIn("weights up to 3", report["interval"]["assumes"])
        self.assertIn("seen", self.found(data, "--interval", "bernstein")[2]["interval"]["assumes"])

    def test_cressie_read_is_at_most_half_as_wide_as_bernstein_on_rare_outcomes(self):
        data, _, _ = self.log(10_000, 6, rate=0.005)
        bounds = ("--outcome-range", "0:1", "--max-weight", 3)
        width = [self.found(data, "--interval", kind, *bounds)[0]["ips"] for kind in ("cressie-read", "bernstein")]
        self.assertLess(width[0]["high"] - width[0]["low"], 0.5 * (width[1]["high"] - width[1]["low"]))

    def test_sequence_is_the_mixture_of_its_paper(self):
        for rows in (5, 700, 5000):
            data, w, y = self.log(rows, 7, rate=0.3)
            values, differences, _ = self.found(data, "--interval", "sequence", "--outcome-range", "0:1", "--max-weight", 3)
            for found, x, offset, mean, reach in ((values["snips"], w * (y - 0.5), 0.5, 0.5, 1.5),
                                                  (differences["ips"], (w - 1) * (y - 0.5), 0.0, 1.0, 1.0)):
                spread, before, start = 0.0, 0.0, 0
                for end in [1] + [2**j for j in range(1, 14)]:
                    spread += ((x[start:end] - np.clip(before, -mean, mean)) ** 2).sum()
                    before, start = x[:end].mean(), end
                half = (reach + mean) * mixture_boundary(spread / (reach + mean) ** 2, 0.025) / rows
                least = 0.0 if offset else -1.0
                self.assert_ends(found, max(offset + x.mean() - half, least), min(offset + x.mean() + half, 1), 1e-8, rows)
        asymptotic, _, report = self.found(data, "--interval", "sequence")
        value, _, error = terms(w, y)["ips"]
        half = error * math.sqrt((1 + 1 / (rows * 1e-3)) * (math.log1p(rows * 1e-3) - 2 * math.log(0.05)))
        self.assert_ends(asymptotic["ips"], value - half, value + half)
        self.assertIn("rows are many", report["interval"]["assumes"])

    def test_logarithmic_smoothing_has_the_least_bound_of_its_grid(self):
        for rows, rate, scale in ((50, 0.3, 1.0), (5000, 0.02, 20.0)):
            data, w, r = self.log(rows, 21, rate=rate, outcome="reward")
            with h5py.File(data, "r+") as file:
                file["loss"][:] = scale * r
            for bounds in ((), ("--outcome-range", f"-1:{scale + 1}")):
                values, differences, _ = self.found(data, "--estimator", "ls,ips", *bounds)
                base, unit = (-1, scale + 2) if bounds else (0, 1)
                grid = [rows ** (-step / 8) / unit for step in range(13)]
                means = [np.log1p(g * w * (scale * r - base)).mean() / g + base for g in grid]
                lower = [m - math.log(13 / 0.05) / (g * rows) for m, g in zip(means, grid)]
                best = int(np.argmax(lower))
                found = values["ls"]
                self.assertAlmostEqual(found["value"] / means[best], 1, 10)
                self.assertAlmostEqual(found["low"], lower[best], delta=1e-10 * scale)
                self.assertAlmostEqual(found["parameter"] / grid[best], 1, 12)
                self.assertIsNone(found["high"])
                self.assertNotIn("ls", differences)
                # How sure one may be of an outcome: the level at which the best bound of the grid ends there.
                for beaten in (means[best] - 0.1 * scale, lower[best], means[best] + scale):
                    policy = run_json("evaluate", data, "--target", "new", "--estimator", "ls", "--at-least", beaten,
                                      *bounds)["policies"][0]
                    failing = min(13 * math.exp(min(700, -(m - beaten) * g * rows)) for m, g in zip(means, grid))
                    said = any("says nothing about --at-least" in w for w in policy["diagnostics"]["warnings"])
                    self.assertEqual(said, failing >= 1)
                    found = policy["estimates"][0].get("confidence")
                    if failing < 1:
                        self.assertAlmostEqual(found, 1 - failing, 9)
                    else:
                        self.assertIsNone(found)
        self.assertNotIn("ls", self.found(data)[0])
        data, _, _ = self.log(100, 22)  # losses above zero
        report = run_json("evaluate", data, "--target", "new", "--estimator", "ls")
        self.assertIsNone(report["policies"][0]["estimates"][0]["value"])
        self.assertIn("--outcome-range", report["policies"][0]["diagnostics"]["warnings"][0])

    def test_alpha_is_the_smoothing_that_logarithmic_smoothing_takes(self):
        rows, smoothing = 2000, 0.03
        data, w, r = self.log(rows, 21, rate=0.1, outcome="reward")
        found = self.found(data, "--estimator", "ls,ips-ix", "--alpha", smoothing)[0]
        value = np.log1p(smoothing * w * r).mean() / smoothing
        self.assertAlmostEqual(found["ls"]["value"], value, 12)
        self.assertAlmostEqual(found["ls"]["low"], value - math.log(1 / 0.05) / (smoothing * rows), 12)  # no choice, no price
        self.assertEqual([found[name]["parameter"] for name in ("ls", "ips-ix")], [smoothing] * 2)

    def test_rewards_have_their_own_ranges_and_signs(self):
        losses, w, y = self.log(2000, 8)
        rewards, _, _ = self.log(2000, 8, "r.h5", outcome="reward")
        with h5py.File(losses, "r+") as file:
            file["loss"][:] = -y
        for options in (("--interval", "cressie-read"), ("--interval", "sequence", "--max-weight", 3), ("--at-least", None)):
            plain = run_json("evaluate", losses, "--target", "new", *[-0.1 if o is None else o for o in options],
                             "--outcome-range=-1:0")["policies"][0]
            turned = run_json("evaluate", rewards, "--target", "new", *[0.1 if o is None else o for o in options],
                              "--outcome-range", "0:1")["policies"][0]
            for a, b in zip(plain["estimates"] + plain["difference"]["estimates"],
                            turned["estimates"] + turned["difference"]["estimates"]):
                self.assertEqual((a["low"], a["high"], a.get("confidence")), (-b["high"], -b["low"], b.get("confidence")))

    def test_at_least_gives_the_confidence_of_a_one_sided_interval(self):
        data, w, y = self.log(20_000, 9, rate=0.3)
        for x in (0.3, 0.4, 0.44, 0.45, 0.6):
            values, differences, _ = self.found(data, "--at-least", x, "--interval", "normal")
            value, _, error = terms(w, y)["ips"]
            self.assertAlmostEqual(values["ips"]["confidence"], stats.norm.cdf((x - value) / error), 8)
            one = differences["ips"]
            self.assertAlmostEqual(one["confidence"], stats.norm.cdf(-one["value"] / one["stderr"]), 8)
            close = self.found(data, "--at-least", x, "--interval", "bootstrap")[0]["ips"]["confidence"]
            self.assertAlmostEqual(values["ips"]["confidence"], close, delta=0.05)
        text = run("evaluate", data, "--target", "new", "--at-least", 0.6).stdout
        self.assertIn("at most 0.6", text)
        self.assertIn("> 99.99 %", text)
        self.assertNotIn("confidence", self.found(data)[0]["ips"])

    def test_simultaneous_intervals_are_wider_for_more_policies_and_about_normal_for_one(self):
        random = np.random.default_rng(3)
        p, t, a, y = draw(20_000, 10, 0.3)
        targets = {f"t{i}": np.clip(t * random.uniform(0.3, 1.7, 10)[a], 0, 1) for i in range(20)}
        data = write_log(self.dir / "m.h5", action_kind="categorical", num_actions=10, action=a, loss=y, propensity=p,
                         targets=targets)
        names = [part for name in targets for part in ("--target", name)]
        ratio = {}
        for count in (1, 20):
            for one in run_json("evaluate", data, *names[:2 * count], "--simultaneous")["policies"]:
                ips = one["estimates"][0]
                ratio.setdefault(count, []).append((ips["high"] - ips["low"]) / (2 * ips["stderr"]))
        confident = run_json("evaluate", data, *names[:4], "--simultaneous", "--at-least", 0.4)["policies"]
        alone = run_json("evaluate", data, *names[:4], "--at-least", 0.4)["policies"]
        for a, b in zip(confident, alone):
            self.assertEqual([e["confidence"] for e in a["estimates"]], [e["confidence"] for e in b["estimates"]])
        self.assertAlmostEqual(ratio[1][0], Z, delta=0.15)
        self.assertTrue(all(2.4 < r < 3.3 for r in ratio[20]), ratio[20])
        self.assertAlmostEqual(min(ratio[20]), max(ratio[20]), 12)

    def test_what_contradicts_the_data_or_cannot_be_is_said(self):
        data, w, _ = self.log(300, 11)
        for options, code, words in (
                (("--interval", "cressie-read", "--outcome-range", "0.2:1"), 1, "a loss of 0 lies outside of --outcome-range 0.2:1"),
                (("--interval", "cressie-read", "--max-weight", 2), 1, "exceeds --max-weight 2; give a larger"),
                (("--interval", "clopper-pearson"), 2, "need --max-weight"),
                (("--interval", "bootstrap", "--simultaneous"), 2, "without --interval"),
                (("--interval", "sequence", "--estimator", "clipped", "--outcome-range", "0:1", "--max-weight", 3), 2, "ips or snips"),
                (("--interval", "cressie-read", "--estimator", "clipped"), 2, "use ips or snips"),
                (("--max-weight", 0.5), 2, "it must be 1 or more"),
                (("--at-least", "nan"), 2, "--at-least must be a number"),
                (("--outcome-range", "0:inf"), 2, "both finite"),
                (("--outcome-range", "1:0"), 2, "--outcome-range is '1:0'"),
                (("--outcome-range", "x"), 2, "LO:HI")):
            self.assertIn(words, run("evaluate", data, "--target", "new", *options, check=code).stderr)

    def test_ranges_too_wide_for_numbers_end_at_once(self):
        data, _, _ = self.log(300, 11)
        for kind in ("sequence", "cressie-read", "bernstein", "clopper-pearson"):
            report = run_json("evaluate", data, "--target", "new", "--interval", kind, "--outcome-range", "0:1e300",
                              "--max-weight", 3, timeout=20)
            self.assertEqual(report["rows"], 300)

    def test_shapes_that_say_nothing_are_warned_about(self):
        def report(y, t, *options):
            n = len(y)
            data = write_log(self.dir / "w.h5", action_kind="categorical", num_actions=2, action=np.zeros(n, np.int32),
                             loss=np.asarray(y, float), propensity=np.full(n, 0.5), targets={"new": np.asarray(t, float)})
            policy = run_json("evaluate", data, "--target", "new", *options)["policies"][0]
            return policy["estimates"], policy["diagnostics"]["warnings"]

        estimates, warnings = report([1.0], [0.5])
        self.assertIsNone(estimates[0]["low"])
        self.assertIn("only one row", warnings[0])
        _, warnings = report([1.0] * 50, [0.5] * 50)
        self.assertTrue(any("all terms are equal" in warning for warning in warnings), warnings)
        _, warnings = report([0.0] * 97 + [1.0] * 3, [0.5] * 100)
        self.assertTrue(any("3 rows decide" in warning for warning in warnings), warnings)
        _, warnings = report(np.random.default_rng(0).normal(size=200), [0.5] * 200)
        self.assertEqual(warnings, [])
        _, warnings = report([0.0] * 97 + [1.0] * 3, [0.5] * 100, "--interval", "cressie-read", "--outcome-range", "0:1")
        self.assertEqual(warnings, [])
        # What was seen is no bound.
        _, warnings = report([0.0] * 50, [0.5] * 50, "--interval", "cressie-read")
        self.assertTrue(any("all terms are equal" in warning for warning in warnings), warnings)
        _, warnings = report([0.1] * 1000, [0.5] * 1000)  # the mean of which is rounded
        self.assertTrue(any("all terms are equal" in warning for warning in warnings), warnings)
        estimates, warnings = report([1.0, 2.0], [0.0, 0.0])
        self.assertIn("every weight is zero", warnings[0])

    def test_clusters_have_the_errors_of_their_sums(self):
        rows = 3000
        random = np.random.default_rng(12)
        for users in (rows, 200, 3):
            cluster = random.integers(0, users, rows) * 12345678901 if users < rows else np.arange(rows)
            data, w, y = self.log(rows, 13, cluster=cluster)
            values, differences, report = self.found(data)
            groups = np.unique(cluster, return_inverse=True)[1]
            count = groups.max() + 1
            self.assertEqual(report["clusters"], count)
            y_sums, w_sums = np.bincount(groups, y - y.mean()), np.bincount(groups, w - w.mean())
            error = math.sqrt(count / (count - 1) * (y_sums**2).sum()) / rows
            self.assertIn(f"(std. error {error:.2g}", run("evaluate", data, "--target", "new").stdout)
            z = (w.mean() - 1) / (math.sqrt(count / (count - 1) * (w_sums**2).sum()) / rows)
            self.assertAlmostEqual(report["policies"][0]["diagnostics"]["mean_weight_z"], z, 9)

            def clustered(d):
                sums = np.bincount(groups, d)
                return math.sqrt(count / (count - 1) * (sums**2).sum()) / rows, sums

            for name, (value, d, _) in terms(w, y).items():
                error, sums = clustered(d)
                self.assertAlmostEqual(values[name]["stderr"], error, 12)
                # Clusters of one row each are rows.
                foreseen = expected_of(name, w, y) if users == rows else (0, 0)
                self.assert_ends(values[name],
                                 *automatic(value, error, left_out(name, w, y, groups), foreseen=foreseen, plain=sums,
                                            rows=rows if name == "snips" else None))
            top = np.sort(w)[-5]
            error, _ = clustered(np.minimum(w, top) * y - (np.minimum(w, top) * y).mean())
            self.assertAlmostEqual(values["clipped"]["stderr"], error, 12)
            d = (w - 1) * y
            self.assertAlmostEqual(differences["ips"]["stderr"], clustered(d - d.mean())[0], 12)
            student = self.found(data, "--interval", "student")[0]["ips"]
            self.assertAlmostEqual((student["high"] - student["value"]) / student["stderr"], stats.t.ppf(0.975, count - 1), 9)
        self.assertTrue(any("decide" in warning for warning in report["policies"][0]["diagnostics"]["warnings"]))
        self.assertIn("clusters", run("evaluate", data, "--target", "new", "--interval", "bernstein", check=2).stderr)
        self.assertIn("in 3 clusters", run("evaluate", data, "--target", "new").stdout)
        data, _, _ = self.log(rows, 13, cluster=np.zeros(rows, np.int64))
        values, _, report = self.found(data)
        said = report["policies"][0]["diagnostics"]["warnings"]
        self.assertFalse([warning for warning in said if "instead of 1" in warning])  # one cluster cannot tell
        self.assertEqual((values["ips"]["stderr"], values["ips"]["low"]), (None, None))
        self.assertIn("one cluster", " ".join(report["policies"][0]["diagnostics"]["warnings"]))

    def test_clusters_count_for_the_held_out_estimate_of_learn_too(self):
        rows = 4000
        data, _, _ = self.log(rows, 16, cluster=np.repeat(np.arange(rows // 20), 20))
        policy = self.dir / "learned.toml"
        held = run_json("learn", data, "--lambda", 1, "--estimator", "snips", "--out", policy)["held_out"]
        again = run_json("evaluate", data, "--holdout-of", policy, "--estimator", "snips")["policies"][0]["estimates"][0]
        self.assertEqual((held["stderr"], held["low"]), (again["stderr"], again["low"]))

    def test_clusters_are_found_wherever_their_rows_lie_and_at_any_thread_count(self):
        rows = 50_000
        random = np.random.default_rng(14)
        cluster = random.integers(0, 45_000, rows)  # more than have sums of their own
        data, w, y = self.log(rows, 15, cluster=cluster)
        reports = []
        for threads in (1, 2, 7):
            report = run_json("evaluate", data, "--target", "new", "--interval", "bootstrap", "--threads", threads)
            del report["seconds"], report["threads"]
            reports.append(report)
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])
        groups = np.unique(cluster, return_inverse=True)[1]
        d = np.bincount(groups, terms(w, y)["ips"][1])
        error = math.sqrt((d**2).sum()) / rows
        self.assertAlmostEqual(reports[0]["policies"][0]["estimates"][0]["stderr"] / error, 1, delta=0.05)


if __name__ == "__main__":
    main()
