"""evaluate: dm, dr, sndr, switch-dr and dros from an outside model's predictions, against their formulas in long doubles."""
# labels: fast cli

import numpy as np

import harness
from harness import ProgramTest, run, run_json, write_log

ROWS = 5000
MODEL_NAMES = ["dm", "dr", "sndr", "switch-dr", "dros"]
PLAIN_NAMES = ["ips", "clipped", "snips", "ips-ix"]


def draw(seed, rows=ROWS):
    random = np.random.default_rng(seed)
    p = random.uniform(0.05, 0.9, rows)
    y = random.normal(2, 1, rows)
    targets = {name: np.minimum(1, p * random.gamma(0.7, 1 / 0.7, rows)) for name in ("new", "old")}
    logged = y + random.normal(0.3, 1, rows)
    predicted = {name: random.normal(2.2, 0.5, rows) for name in targets}
    return {"p": p, "y": y, "targets": targets, "logged": logged, "predicted": predicted, "random": random}


def columns(log, name="m", sign=1):
    out = {f"model/{name}/logged": sign * log["logged"]}
    for target, values in log["predicted"].items():
        out[f"model/{name}/target/{target}"] = sign * values
    return out


def terms(log, target, estimator, parameter=None):
    """The averaged terms of each row, or what the delta method makes of them."""
    y, q, a = (np.asarray(v, np.longdouble) for v in (log["y"], log["logged"], log["predicted"][target]))
    w = np.asarray(log["targets"][target], np.longdouble) / np.asarray(log["p"], np.longdouble)
    if estimator == "dm":
        return a
    if estimator == "sndr":
        rho = (w * (y - q)).sum() / w.sum()
        return a + rho + w * (y - q - rho) / w.mean()
    if estimator == "switch-dr":
        w = np.where(w <= parameter, w, 0)
    if estimator == "dros":
        w = parameter * w / (w * w + parameter)
    return a + w * (y - q)


def error_of_mean(t):
    return float(t.std(ddof=1) / np.sqrt(np.longdouble(len(t))))


class OutsideModel(ProgramTest):
    def setUp(self):
        super().setUp()
        self.log = draw(1)

    def write(self, log, name="a.h5", **more):
        n = len(log["y"])
        return write_log(self.dir / name, action=np.zeros(n), loss=log["y"], propensity=log["p"],
                         targets=log["targets"], **more)

    def check(self, found, t, places=1e-10):
        self.assertLess(abs(found["value"] - float(t.mean())), places * max(1, abs(float(t.mean()))))
        self.assertLess(abs(found["stderr"] / error_of_mean(t) - 1), places)

    def test_agrees_with_the_formulas_in_long_doubles(self):
        data = self.write(self.log, **columns(self.log))
        for tuning in ("mse", "slope"):
            report = run_json("evaluate", data, "--target", "new", "--target", "old", "--tuning", tuning)
            self.assertEqual(report["model"]["name"], "m")
            for policy in report["policies"]:
                found = {one["estimator"]: one for one in policy["estimates"]}
                self.assertEqual(list(found), PLAIN_NAMES + MODEL_NAMES)
                for name in MODEL_NAMES:
                    with self.subTest(tuning=tuning, policy=policy["name"], estimator=name):
                        one = found[name]
                        self.assertEqual(one["parameter"] is not None, name in ("switch-dr", "dros"))
                        self.check(one, terms(self.log, policy["name"], name, one["parameter"]))
                        self.assertLess(one["low"], one["value"])
                        self.assertGreater(one["high"], one["value"])
                said = " ".join(policy["diagnostics"]["warnings"])
                self.assertIn("dm: its interval knows nothing of the model's bias", said)

    def test_differences_are_paired(self):
        data = self.write(self.log, **columns(self.log))
        args = ("evaluate", data, "--target", "new", "--target", "old", "--interval", "normal")
        for baseline in ("logged", "old"):
            policies = run_json(*args, "--baseline", baseline)["policies"]
            own = [{one["estimator"]: one for one in policy["estimates"]} for policy in policies]
            for one in policies[0]["difference"]["estimates"]:
                name = one["estimator"]
                if name not in MODEL_NAMES:
                    continue
                with self.subTest(baseline=baseline, estimator=name):
                    t = terms(self.log, "new", name, own[0][name]["parameter"])
                    b = self.log["y"] if baseline == "logged" else terms(self.log, "old", name, own[1][name]["parameter"])
                    self.check(one, t - b)

    def test_the_scale_is_tuned_by_the_bound_of_the_mean_squared_error(self):
        data = self.write(self.log, **columns(self.log))
        report = run_json("evaluate", data, "--target", "new")
        found = {one["estimator"]: one for one in report["policies"][0]["estimates"]}
        scales = ROWS ** (np.arange(12) / 11)
        for name, power in (("switch-dr", 1), ("dros", 2)):
            whole = terms(self.log, "new", name, scales[-1] ** power)
            def bound(scale):
                t = terms(self.log, "new", name, scale ** power)
                b = t - whole
                return t.var() / ROWS + (abs(b.mean()) + 2 * b.std() / np.sqrt(ROWS)) ** 2
            best = min(scales[::-1], key=bound)  # the largest of equals
            self.assertAlmostEqual(found[name]["parameter"] / best ** power, 1, 9)
            # Its bias is bounded, and its error is smaller than that of dr, whose weights are heavy here.
            self.assertLessEqual(found[name]["stderr"], found["dr"]["stderr"])

    def test_a_useless_residual_of_a_huge_weight_is_left_to_the_model(self):
        log = draw(3)
        log["p"][:3], log["targets"]["new"][:3] = 1e-6, 0.5
        log["logged"] = log["y"] + log["random"].normal(0, 1, ROWS)
        data = self.write(log, **columns(log))
        found = {one["estimator"]: one
                 for one in run_json("evaluate", data, "--target", "new")["policies"][0]["estimates"]}
        for name in ("switch-dr", "dros"):
            self.assertLess(found[name]["stderr"], 0.1 * found["dr"]["stderr"])

    def test_rewards_are_turned_with_their_predictions(self):
        loss = run_json("evaluate", self.write(self.log, **columns(self.log)), "--target", "new")["policies"][0]
        turned = dict(self.log, y=-self.log["y"])
        data = self.write(turned, "r.h5", attributes={"outcome": "reward"}, **columns(self.log, sign=-1))
        reward = run_json("evaluate", data, "--target", "new")["policies"][0]
        for one, other in zip(loss["estimates"], reward["estimates"]):
            self.assertEqual(one["value"], -other["value"])
            self.assertEqual(one["low"], -other["high"])

    def test_intervals_that_need_bounds_of_the_terms_are_refused(self):
        data = self.write(self.log, **columns(self.log))
        for kind in ("normal", "student", "bernstein", "bootstrap", "auto", "sequence"):
            for policy in run_json("evaluate", data, "--target", "new", "--interval", kind)["policies"]:
                for one in policy["estimates"] + policy["difference"]["estimates"]:
                    with self.subTest(kind=kind, estimator=one["estimator"]):
                        self.assertLess(one["low"], one["high"])
        said = run("evaluate", data, "--target", "new", "--estimator", "dr", "--interval", "cressie-read", check=2).stderr
        self.assertIn("estimator 'dr': cressie-read intervals need unmodified importance weights", said)

    def test_bootstrap_and_clusters_see_the_same_spread(self):
        for data in (self.write(self.log, **columns(self.log)),
                     self.write(self.log, "c.h5", cluster=np.arange(ROWS), **columns(self.log))):
            normal, bootstrap = (
                {one["estimator"]: one for one in run_json(
                    "evaluate", data, "--target", "new", "--interval", kind)["policies"][0]["estimates"]}
                for kind in ("normal", "bootstrap"))
            for name in MODEL_NAMES:
                wide = (bootstrap[name]["high"] - bootstrap[name]["low"]) / (normal[name]["high"] - normal[name]["low"])
                self.assertLess(abs(wide - 1), 0.12, name)

    def test_clustered_rows_have_the_error_of_their_clusters(self):
        twice = {key: np.repeat(self.log[key], 2) for key in ("p", "y", "logged")}
        twice["targets"], twice["predicted"] = ({k: np.repeat(v, 2) for k, v in self.log[key].items()}
                                                for key in ("targets", "predicted"))
        once = run_json("evaluate", self.write(self.log, **columns(self.log)), "--target", "new")["policies"][0]
        data = self.write(twice, "c.h5", cluster=np.repeat(np.arange(ROWS), 2), **columns(twice))
        again = run_json("evaluate", data, "--target", "new")["policies"][0]
        for one, other in zip(once["estimates"], again["estimates"]):
            if one["estimator"] in ("dm", "dr", "sndr"):
                self.assertAlmostEqual(one["value"], other["value"], 10)
                self.assertAlmostEqual(one["stderr"], other["stderr"], 10)

    def test_the_same_json_at_any_number_of_threads(self):
        log = draw(7, 70000)
        data = self.write(log, **columns(log))
        def report(threads):
            found = run_json("evaluate", data, "--target", "new", "--target", "old", "--threads", threads)
            return {**found, "seconds": 0, "threads": 0}
        self.assertEqual(report(1), report(7))

    def test_the_model_is_chosen_by_name(self):
        both = {**columns(self.log, "m"), **columns(self.log, "n")}
        data = self.write(self.log, **both)
        def names(*options):
            report = run_json("evaluate", data, "--target", "new", *options)
            return [one["estimator"] for one in report["policies"][0]["estimates"]]
        self.assertEqual(names(), PLAIN_NAMES)  # which of the two is not ours to say
        self.assertEqual(names("--model", "n"), PLAIN_NAMES + MODEL_NAMES)
        self.assertEqual(names("--model", "none"), PLAIN_NAMES)
        said = run("evaluate", data, "--target", "new", "--model", "o", check=1).stderr
        self.assertIn("model/o: there is no such group; there are m, n, and ridge, fourier and none", said)
        said = run("evaluate", self.write(self.log), "--target", "new", "--model", "rigde", check=1).stderr
        self.assertIn("nor any other model; ridge and fourier are fitted to the rows", said)
        said = run("evaluate", data, "--target", "new", "--estimator", "dr", check=1).stderr
        self.assertIn("the estimator 'dr' does not apply: there is no model: --model ridge fits one", said)

    def test_a_target_without_predictions_goes_without_the_model(self):
        some = columns(self.log)
        del some["model/m/target/old"]
        data = self.write(self.log, **some)
        new, old = run_json("evaluate", data, "--target", "new", "--target", "old", "--baseline", "old")["policies"]
        self.assertEqual([one["estimator"] for one in new["estimates"]], PLAIN_NAMES + MODEL_NAMES)
        self.assertEqual([one["estimator"] for one in old["estimates"]], PLAIN_NAMES)
        self.assertEqual([one["estimator"] for one in new["difference"]["estimates"]], PLAIN_NAMES)
        said = run("evaluate", data, "--target", "old", "--estimator", "dr", check=1).stderr
        self.assertIn("the data has no model/m/target/old", said)

    def test_predictions_that_are_not_finite_are_bad_rows(self):
        log = draw(2)
        log["logged"][17] = np.nan
        data = self.write(log, **columns(log))
        said = run("evaluate", data, "--target", "new", check=1).stderr
        self.assertIn("model/m/logged", said)
        self.assertIn("row 17", said)
        report = run_json("evaluate", data, "--target", "new", "--skip-bad-rows")
        self.assertEqual(report["skipped_rows_by_reason"], {"model_not_finite": 1})
        run("evaluate", data, "--target", "new", "--model", "none")

    def test_one_row_has_values_and_no_errors(self):
        log = draw(4, 1)
        data = self.write(log, **columns(log))
        for one in run_json("evaluate", data, "--target", "new")["policies"][0]["estimates"]:
            self.assertIsNotNone(one["value"], one["estimator"])
            self.assertIsNone(one["stderr"], one["estimator"])


if __name__ == "__main__":
    harness.main()
