"""Reports: of archives with failed runs, odd names, many methods, short curves; of evaluations; and what is refused."""
# labels: fast cli

import csv
import json
import os
import unittest

import h5py
import numpy as np

import harness
from archives import check_page, made_up_run, write_archive
from harness import ProgramTest, gaussian_log, run, run_json

POLICY = 'kind = "gaussian"\nfeatures = "linear"\nscale = 0.5\ntheta = [{}, 0.0, 0.0, 0.0]\n'


class ReportTest(ProgramTest):
    def report(self, runs, **options):
        """The page of these runs, and its data."""
        archive = write_archive(self.dir / "results.h5", runs)
        self.done = run("report", archive, "--out", self.dir / "out", **options)
        return check_page(self, self.dir / "out")

    def table(self, name, kind="csv"):
        return (self.dir / "out" / "tables" / f"{name}.{kind}").read_text()


class Sweeps(ReportTest):
    def test_mean_and_spread_are_those_of_the_runs_in_every_form(self):
        losses = {seed: -5 - 0.1 * seed**2 for seed in range(4)}
        runs = [made_up_run(seed=seed, loss=[-3, -4, last]) for seed, last in losses.items()]
        runs += [made_up_run(seed=seed, loss=[-3, -4, last + 1], lam=0.1) for seed, last in losses.items()]
        runs += [made_up_run(seed=seed, loss=[-3, -4, last + 0.5], rule="auto") for seed, last in losses.items()]
        runs += [made_up_run(method="skyline", seed=seed, loss=[-6.0], rows=[0], rule="") for seed in losses]
        page, data = self.report(runs)
        values = np.array(list(losses.values()))
        lines = {line["label"]: line for line in data["lines"]}
        self.assertEqual(sorted(lines), ["scrm", "scrm (auto λ)", "skyline"])
        self.assertAlmostEqual(lines["scrm"]["mean"], values.mean(), places=12)
        self.assertAlmostEqual(lines["scrm"]["sd"], values.std(ddof=1), places=12)
        shown = f"−{abs(values.mean()):.3f} ± {values.std(ddof=1):.3f} [λ = 0.01]"
        for text in (page, self.table("losses", "md"), self.done.stdout):
            self.assertIn(shown, text)
        self.assertIn(shown.replace("−", "$-$").replace("±", r"$\pm$").replace("λ", r"$\lambda$"),
                      self.table("losses", "tex"))
        rows = list(csv.DictReader(self.table("losses").splitlines()))
        self.assertEqual(float(rows[0]["mean"]), lines["scrm"]["mean"])
        self.assertIn("a choice in hindsight", page)

    def test_curves_of_different_length_are_averaged_as_far_as_they_go(self):
        _, data = self.report([made_up_run(seed=0, loss=[1.0, 2.0, 3.0]), made_up_run(seed=1, loss=[3.0]),
                               made_up_run(method="crm", seed=0, loss=[5.0, 4.0])])
        curve = data["lines"][0]["curve"]
        self.assertEqual((curve["mean"], curve["seeds"]), ([2.0, 2.0, 3.0], [2, 1, 1]))
        self.assertEqual(curve["sd"], [2**0.5, None, None])

    def test_failed_runs_are_counted_and_named_and_leave_the_others_alone(self):
        page, data = self.report([made_up_run(seed=0), made_up_run(seed=1, loss=[], failed="no <memory> & no hope"),
                                  made_up_run(method="crm", loss=[], failed="no <memory> & no hope")])
        self.assertIn("2 runs failed, the first of them pricing / scrm with seed 1: no &lt;memory&gt; &amp; no hope", page)
        self.assertIn("−5.000 (1 of 2 seeds)", page)
        self.assertIn(">failed<", page)
        self.assertEqual(data["lines"][1]["mean"], None)

    def test_an_archive_whose_runs_all_failed_is_still_a_page(self):
        page, _ = self.report([made_up_run(loss=[], failed="out of memory")])
        self.assertIn("1 run failed", page)

    def test_one_seed_of_one_method_has_no_spread_and_no_band(self):
        page, _ = self.report([made_up_run()])
        self.assertIn(">−5.000<", page)
        self.assertNotIn("fill-opacity=\".16\"", page)

    def test_names_with_markup_and_sixty_characters_are_shown_whole(self):
        evil, long = "<script>alert(1)</script>&amp;\"'|_%$#", "m" * 30 + "w" * 30
        page, data = self.report([made_up_run(environment=e, method=m, seed=s) for e in (evil, long) for m in (evil, long)
                                  for s in (0, 1)])
        self.assertNotIn("<script>alert", page)
        self.assertIn(long, page)
        self.assertEqual({line["label"] for line in data["lines"]}, {evil, long})
        self.assertIn(r"\_\%\$\#", self.table("losses", "tex"))

    def test_forty_methods_are_all_there(self):
        methods = [f"method-{i:02}" for i in range(40)]
        page, _ = self.report([made_up_run(method=m, seed=s, loss=[-1, -i / 10, -i / 8]) for i, m in enumerate(methods)
                               for s in range(2)])
        figure = (self.dir / "out/figures/loss-pricing-1.svg").read_text()
        for method in methods:
            self.assertIn(f">{method}<", figure)
            self.assertIn(f">{method}<", page)

    def test_effective_sample_sizes_are_drawn_where_runs_have_them(self):
        page, _ = self.report([made_up_run(seed=s, ess=[50.0, 500.0, 5000.0]) for s in (0, 1)])
        self.assertIn("effective rows", page)
        self.assertIn("effective sample size", (self.dir / "out/figures/ess-pricing-1.svg").read_text())
        self.assertFalse((self.dir / "out/figures/weight-pricing-1.svg").exists())

    def test_mean_weights_are_drawn_where_runs_have_them(self):
        self.report([made_up_run(seed=s, mean_weight=[0.97, 1.0, 1.2]) for s in (0, 1)])
        self.assertIn("mean weight", (self.dir / "out/figures/weight-pricing-1.svg").read_text())

    def test_the_same_archive_gives_the_same_bytes(self):
        runs = [made_up_run(seed=s) for s in (0, 1)]
        self.report(runs)
        first = {p.name: p.read_bytes() for p in (self.dir / "out").rglob("*") if p.is_file()}
        run("report", self.dir / "results.h5", "--out", self.dir / "out", "--overwrite")
        self.assertEqual(first, {p.name: p.read_bytes() for p in (self.dir / "out").rglob("*") if p.is_file()})

    def test_a_real_sweep_is_inspected_and_reported(self):
        sweep = self.dir / "s.toml"
        sweep.write_text('environments = ["gaussian"]\nmethods = ["baseline", "crm", "scrm"]\nseeds = 2\nrollouts = 3\n')
        run("sweep", sweep, "--out", self.dir / "real.h5")
        out = run("report", self.dir / "real.h5", "--out", self.dir / "out").stdout
        page, _ = check_page(self, self.dir / "out")
        self.assertIn("loss by rows logged", page)
        self.assertIn("index.html", out)
        said = run("inspect", self.dir / "real.h5").stdout
        self.assertIn("an archive of 6 runs: 1 environment, 3 methods, 2 seeds", said)
        facts = run_json("inspect", self.dir / "real.h5")
        self.assertEqual((facts["kind"], facts["runs"], facts["failed"], facts["seeds"]), ("archive", 6, 0, [0, 1]))
        self.assertEqual({cell["method"] for cell in facts["table"]}, {"baseline", "crm", "scrm"})


class Evaluations(ReportTest):
    def evaluate(self, *policies, options=("--weight-histogram",), **log):
        data = gaussian_log(self.dir / "log.h5", **log)
        for i, theta in enumerate(policies):
            (self.dir / f"p{i}.toml").write_text(POLICY.format(theta))
        given = [part for i in range(len(policies)) for part in ("--policy", self.dir / f"p{i}.toml")]
        text = run("evaluate", data, *given, *options, "--json").stdout
        (self.dir / "evaluation.json").write_text(text)
        return json.loads(text)

    def test_every_estimate_difference_and_warning_is_on_the_page(self):
        found = self.evaluate(0.1, 4.0)
        run("report", self.dir / "evaluation.json", "--out", self.dir / "out")
        page, data = check_page(self, self.dir / "out")
        self.assertEqual(data, found)
        rows = list(csv.DictReader(self.table("estimates").splitlines()))
        self.assertEqual([float(row["value"]) for row in rows],
                         [e["value"] for policy in found["policies"] for e in policy["estimates"]])
        for warning in found["policies"][1]["diagnostics"]["warnings"]:
            self.assertIn(warning.replace("<", "&lt;").replace(">", "&gt;").replace("&", "&amp;")[:40], page)
        for name in ("values", "differences", "weights-1", "weights-2"):
            self.assertTrue((self.dir / f"out/figures/{name}.svg").exists(), name)

    def test_warnings_of_the_data_are_on_the_page(self):
        found = self.evaluate(0.1)
        self.assertEqual(found["warnings"], [])
        copy = self.dir / "copy.h5"
        copy.write_bytes((self.dir / "log.h5").read_bytes())
        (self.dir / "evaluation.json").write_text(
            run("evaluate", self.dir / "log.h5", copy, "--policy", self.dir / "p0.toml", "--json").stdout)
        run("report", self.dir / "evaluation.json", "--out", self.dir / "out")
        self.assertIn("copy.h5 hold the same rows", check_page(self, self.dir / "out")[0])

    def test_the_histogram_counts_every_row_at_its_weight(self):
        found = self.evaluate(0.3, rows=5000)["policies"][0]
        with h5py.File(self.dir / "log.h5") as log:
            action, propensity = log["action"][:], log["propensity"][:]
        weight = np.exp(-((action - 0.3) / 0.5)**2 / 2) / (0.5 * np.sqrt(2 * np.pi)) / propensity
        self.assertEqual(sum(b["rows"] for b in found["weights"]), 5000)
        for b in found["weights"]:
            if b["low"] > 2.0**-23:
                self.assertEqual(b["rows"], int(((weight >= b["low"]) & (weight < b["high"])).sum()))

    def test_without_a_histogram_the_page_says_how_to_get_one(self):
        self.evaluate(0.1, options=())
        run("report", self.dir / "evaluation.json", "--out", self.dir / "out")
        self.assertIn("--weight-histogram", check_page(self, self.dir / "out")[0])

    def test_sixty_policies_make_several_pictures(self):
        self.evaluate(*np.linspace(0, 0.5, 60), options=())
        run("report", self.dir / "evaluation.json", "--out", self.dir / "out")
        page, _ = check_page(self, self.dir / "out")
        self.assertGreater(len(list((self.dir / "out/figures").glob("values-*.svg"))), 2)


class Refusals(ReportTest):
    def refused(self, words, *args):
        done = run("report", *args, check=1)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_what_is_no_archive_and_no_evaluation_is_named(self):
        out = ("--out", self.dir / "out")
        self.refused("none.h5", self.dir / "none.h5", *out)
        self.refused("is a folder", self.dir, *out)
        with h5py.File(self.dir / "foreign.h5", "w") as file:
            file["x"] = [1, 2, 3]
        self.refused("has no attribute format", self.dir / "foreign.h5", *out)
        self.refused('"scrm-results" is needed', gaussian_log(self.dir / "log.h5", rows=10), *out)
        (self.dir / "text.h5").write_text("hello")
        self.refused("text.h5", self.dir / "text.h5", *out)
        for text in ("{}", "[1, 2]", '{"rows": 5, "policies": [3]}', '{"rows": 5, "policies": [{"name": "p"}]}'):
            (self.dir / "e.json").write_text(text)
            self.refused("is no result of `scrm evaluate --json`", self.dir / "e.json", *out)
        (self.dir / "e.json").write_text('{"rows": 5, "poli')
        self.refused("is not JSON", self.dir / "e.json", *out)
        self.assertFalse((self.dir / "out").exists())

    def test_folders_that_hold_other_things_are_left_alone(self):
        archive = write_archive(self.dir / "results.h5", [made_up_run()])
        other = self.dir / "other"
        other.mkdir()
        (other / "thesis.txt").write_text("years")
        for options in ((), ("--overwrite",)):
            self.refused("holds other things than a report", archive, "--out", other, *options)
        self.refused("is no folder", archive, "--out", other / "thesis.txt")
        run("report", archive, "--out", self.dir / "out")
        self.refused("--overwrite", archive, "--out", self.dir / "out")
        run("report", archive, "--out", self.dir / "out", "--overwrite")
        self.assertEqual((other / "thesis.txt").read_text(), "years")

    def test_tables_and_figures_of_an_earlier_report_do_not_stay(self):
        run("report", write_archive(self.dir / "a.h5", [made_up_run(environment="first")]), "--out", self.dir / "out")
        run("report", write_archive(self.dir / "b.h5", [made_up_run(environment="second")]), "--out", self.dir / "out",
            "--overwrite")
        names = [path.name for path in (self.dir / "out/figures").iterdir()]
        self.assertEqual(names, ["loss-second-1.svg"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_cannot_be_written_is_named(self):
        archive = write_archive(self.dir / "results.h5", [made_up_run()])
        locked = self.dir / "locked"
        locked.mkdir(mode=0o500)
        self.refused("locked", archive, "--out", locked)

    def test_a_folder_below_a_file_cannot_be_made(self):
        archive = write_archive(self.dir / "results.h5", [made_up_run()])
        self.refused("cannot make a folder here", archive, "--out", archive / "out")


if __name__ == "__main__":
    harness.main()
