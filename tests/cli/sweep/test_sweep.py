"""`scrm sweep`: what its archive holds, and that nothing but the sweep file decides about it."""
# labels: slow cli

import datetime
import json

import h5py
import numpy as np

from harness import DATA_DIR, main, need_data, run, run_json
from sweeps import SweepTest, archive, runs, write_labelled

LAMBDAS = [1e-4, 1e-2]


class Archive(SweepTest):
    def small(self, **keys):
        return self.write(**{"environments": ["pricing", "gaussian"], "methods": ["baseline", "crm", "scrm", "skyline"],
                             "seeds": [3, 0], "rollouts": 4, "lambdas": LAMBDAS, **keys})

    def test_columns_have_the_documented_names_types_and_shapes(self):
        path, _ = self.sweep(self.small())
        with h5py.File(path) as file:
            columns = file["runs"]
            count = len(columns["seed"])
            for name in ["environment", "method", "status", "message", "lambda_rule", "identity"]:
                self.assertEqual(columns[name].shape, (count,), name)
                self.assertEqual(h5py.check_string_dtype(columns[name].dtype).encoding, "utf-8", name)
            for name in ["hyperparameter", "final_loss", "seconds"]:
                self.assertEqual((columns[name].dtype, columns[name].shape), (np.float64, (count,)), name)
            self.assertEqual((columns["seed"].dtype, columns["seed"].shape), (np.int64, (count,)))
            for name, kind in [("loss", np.float64), ("rows", np.int64), ("regret", np.float64)]:
                self.assertEqual((columns[name].dtype, columns[name].shape), (kind, (count, 4)), name)
            self.assertEqual(h5py.check_vlen_dtype(columns["theta"].dtype), np.float64)
            for name in columns.attrs["extra_curves"]:
                self.assertEqual(columns[name].shape, (count, 4), name)
            for name in columns.attrs["extra_numbers"]:
                self.assertEqual(columns[name].shape, (count,), name)

    def test_every_run_is_there_once_in_the_order_of_the_file(self):
        path, _ = self.sweep(self.small())
        columns = archive(path)
        found = list(zip(columns["environment"], columns["method"], columns["lambda_rule"],
                         columns["hyperparameter"].tolist(), columns["seed"].tolist()))
        wanted = []
        for environment in ["pricing", "gaussian"]:
            for method in ["baseline", "crm", "scrm", "skyline"]:
                learns = method in ("crm", "scrm")
                # The penalty of the gaussian example is part of its definition.
                grid = [("", np.nan)] if not learns else ([("log-rows", np.nan)] if environment == "gaussian" else
                                                          [("given", value) for value in LAMBDAS])
                wanted += [(environment, method, *point, seed) for point in grid for seed in (3, 0)]
        self.assertEqual(str(found), str(wanted))
        self.assertEqual(len(set(columns["identity"])), len(found))
        self.assertEqual(set(columns["status"]), {"ok"})
        self.assertEqual(set(columns["message"]), {""})
        self.assertEqual(len(runs(path)), len(found))

    def test_curves_end_in_the_final_loss_and_count_rows(self):
        path, _ = self.sweep(self.small())
        columns = archive(path)
        np.testing.assert_array_equal(columns["final_loss"], columns["loss"][:, -1])
        self.assertTrue(np.isfinite(columns["loss"]).all())
        self.assertTrue((columns["seconds"] >= 0).all())
        for i, method in enumerate(columns["method"]):
            learns = method in ("crm", "scrm")
            self.assertEqual(columns["rows"][i].tolist(), [100, 300, 700, 1500] if learns else [0, 0, 0, 0])
            self.assertEqual(len(columns["theta"][i]), 11 if columns["environment"][i] == "pricing" else 1)
        # Regret charges each policy's excess to the batch behind it.
        following = np.array([200, 400, 800, 1600])
        wanted = np.cumsum((columns["loss"] - columns["optimum"][:, None]) * following, axis=1)
        np.testing.assert_allclose(columns["regret"], wanted, rtol=1e-12)

    def test_the_gaussian_loss_is_the_closed_form_of_theta(self):
        path, _ = self.sweep(self.small(environments=["gaussian"], methods=["baseline", "crm", "scrm"]))
        columns = archive(path)
        theta = np.array([value[0] for value in columns["theta"]])
        np.testing.assert_allclose(columns["final_loss"], -1 + 0.2 * ((theta - 1)**2 + 0.3**2 + 0.09), rtol=1e-12)

    def test_linear_growth_and_first_batches_of_one_and_two_rows(self):
        path, _ = self.sweep(self.small(growth="linear", first_batch=50, methods=["scrm"]), out="linear.h5")
        self.assertEqual(archive(path)["rows"].tolist(), [[50, 150, 300, 500]] * 6)
        path, _ = self.sweep(self.small(first_batch=2, methods=["crm", "scrm"]), out="two.h5")
        self.assertEqual(archive(path)["rows"].tolist(), [[2, 6, 14, 30]] * 12)
        self.assertTrue(np.isfinite(archive(path)["loss"]).all())
        # Nothing can be learned from one row: the start is kept, and the next batch is learned from.
        path, _ = self.sweep(self.small(first_batch=1, methods=["baseline", "crm", "scrm"]), out="one.h5")
        columns = archive(path)
        for environment in set(columns["environment"]):
            for seed in set(columns["seed"]):
                here = (np.array(columns["environment"]) == environment) & (columns["seed"] == seed)
                start = columns["loss"][here & (np.array(columns["method"]) == "baseline"), 0][0]
                for method in ("crm", "scrm"):
                    losses = columns["loss"][here & (np.array(columns["method"]) == method)]
                    self.assertTrue((losses[:, 0] == start).all(), method)
                    self.assertTrue((losses[:, 1] != start).all(), method)

    def test_root_attributes_tell_where_the_numbers_come_from(self):
        sweep_file = self.small(tables="# a remark, kept as it is: λ\n", environments=["gaussian"])
        path, _ = self.sweep(sweep_file)
        with h5py.File(path) as file:
            attributes = dict(file.attrs)
        self.assertEqual(attributes["sweep"], sweep_file.read_text())
        version = run("--version").stdout
        self.assertIn(attributes["version"], version)
        self.assertIn(attributes["instruction_set"], version)
        self.assertEqual(attributes["libraries"], version)
        self.assertTrue(attributes["host"])
        moment = datetime.datetime.strptime(attributes["time"], "%Y-%m-%dT%H:%M:%SZ")
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
        self.assertLess(abs(now - moment), datetime.timedelta(minutes=10))
        self.assertEqual(self.visible(), ["results.h5", "sweep.toml"])

    def test_a_run_that_does_not_fit_fails_with_its_reason_and_the_others_go_on(self):
        sweep_file = self.write(environments=["gaussian", "pricing"], methods=["baseline", "bkucb"], rollouts=13,
                                tables='[environment.gaussian]\nrollouts = 2\n[method.bkucb]\nbandit_lambdas = 1\n'
                                       '[environment.pricing]\nkernel = "gaussian"\npoints = 3000\n')
        path, done = self.sweep(sweep_file, "--memory", "64M", "--json", check=1)
        columns = archive(path)
        self.assertEqual(columns["status"], ["ok", "ok", "ok", "failed"])
        self.assertIn("budget", columns["message"][3])
        self.assertTrue(np.isnan(columns["loss"][3]).all() and np.isnan(columns["final_loss"][3]))
        # Shorter runs are padded.
        self.assertEqual(columns["rollouts"].tolist()[:3], [2, 2, 13])
        self.assertTrue(np.isnan(columns["loss"][0, 2:]).all())
        self.assertEqual(columns["rows"][1].tolist(), [100, 300] + [0] * 11)
        self.assertIn("1 of 4 runs failed", done.stderr)
        self.assertIn("pricing / bkucb", done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["runs"], result["failed"]), (4, 1))

    def test_skylines_and_majorities_are_had_wherever_right_answers_are_known(self):
        path, done = self.sweep(self.write(environments=["pricing", "multilabel", "categorical"], seeds=[0, 1],
                                           methods=["baseline", "majority", "skyline", "all-zeros"], rollouts=1))
        columns = archive(path)
        self.assertEqual(set(columns["status"]), {"ok"})
        loss = {}
        for environment, method, value in zip(columns["environment"], columns["method"], columns["final_loss"]):
            loss[environment, method] = loss.get((environment, method), 0) + value / 2
        self.assertEqual(len(loss), 9)
        self.assertLess(loss["pricing", "skyline"], loss["pricing", "baseline"])
        for environment in ["multilabel", "categorical"]:
            self.assertLess(loss[environment, "skyline"], loss[environment, "majority"] - 0.1)
            self.assertLess(loss[environment, "majority"], loss[environment, "baseline"])
        # What does not apply is said, and is no run.
        self.assertIn("all-zeros is left out on categorical: its actions are not bits", done.stderr)
        self.assertEqual(done.stdout.count("not applicable"), 3)

    def test_methods_that_do_not_apply_are_told_apart_from_runs_that_fail(self):
        path, done = self.sweep(self.write(environments=["categorical"], methods=["baseline", "bkucb", "additive"],
                                           rollouts=1, tables='[method.additive]\nlike = "scrm"\nestimator = "additive"\n'),
                                "--json")
        result = json.loads(done.stdout)
        self.assertEqual((result["runs"], result["failed"]), (1, 0))
        self.assertEqual([row["method"] for row in result["table"]], ["baseline"])
        left_out = {entry["method"]: entry["reason"] for entry in result["not_applicable"]}
        self.assertEqual(sorted(left_out), ["additive", "bkucb"])
        self.assertIn("bits", left_out["additive"])
        self.assertEqual(archive(path)["method"], ["baseline"])

    def test_a_resumed_sweep_with_other_methods_keeps_each_environment_together(self):
        options = dict(environments=["pricing", "gaussian"], rollouts=1)
        path, _ = self.sweep(self.write(methods=["baseline", "crm"], lambdas=[0.1], **options))
        _, done = self.sweep(self.write(methods=["skyline"], **options), "--resume")
        self.assertEqual(archive(path)["environment"], ["pricing"] * 3 + ["gaussian"] * 3)
        rows = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("pricing", "gaussian"))]
        self.assertEqual(rows, ["pricing", "gaussian"])

    def test_so_many_variants_that_their_options_exceed_64_kilobytes(self):
        names = [f"v{i}" for i in range(200)]
        tables = "".join(f'[method.{name}]\nlike = "baseline"\n' for name in names)
        path, _ = self.sweep(self.write(environments=["gaussian"], methods=names, rollouts=1, tables=tables))
        with h5py.File(path) as file:
            self.assertGreater(len(file.attrs["options"]), 1 << 16)
        self.assertEqual(self.sweep(self.dir / "sweep.toml", "--resume", "--json")[1].returncode, 0)
        self.assertEqual(len(runs(path)), 200)


class LabelledData(SweepTest):
    METHODS = ["baseline", "crm", "scrm", "skyline", "all-zeros", "majority"]

    def columns(self, rows, features, labels, check=0):
        data = write_labelled(self.dir / "data.h5", rows, features, labels)
        keys = dict(environments=[str(data)], methods=self.METHODS, rollouts=3, lambdas=0.1, max_iterations=20)
        path, done = self.sweep(self.write(**keys), "--overwrite", check=check)
        with h5py.File(data) as file:
            return archive(path), file["label"][()], done.stderr

    def test_data_sets_of_ones_own_in_awkward_shapes(self):
        for shape in [(7, 3, 2), (30, 1, 1), (30, 0, 2), (30, 3, 64), (100, 2000, 2), (200, 5, 3)]:
            with self.subTest(shape=shape):
                columns, labels, _ = self.columns(*shape)
                self.assertEqual(set(columns["status"]), {"ok"})
                self.assertTrue(((columns["loss"] >= 0) & (columns["loss"] <= 1)).all())
                rows, features, count = shape
                learned = rows - int(np.ceil(0.33 * rows))
                self.assertEqual(columns["rows"][1].tolist(), [learned * b // 3 * 4 for b in (1, 2, 3)])
                self.assertEqual([len(theta) for theta in columns["theta"]], [count * (1 + features)] * 6)
                # No bit is set but by the coin that is tossed in a tenth of the cases: between all rows right and none.
                wrong = labels.sum() / 0.33 / rows / count
                self.assertLessEqual(columns["final_loss"][4], 0.9 * min(1, wrong) + 0.05 + 1e-12)

    def test_too_few_rows_to_learn_from_fail_with_their_reason(self):
        columns, _, _ = self.columns(4, 1, 2, check=1)
        self.assertEqual(columns["status"], ["ok", "failed", "failed", "ok", "ok", "ok"])
        self.assertIn("no rows to learn from", columns["message"][1])
        self.assertNotIn("--holdout", columns["message"][1])  # which sweeps do not have
        self.assertIn("2 rows are too few", self.columns(2, 1, 1, check=1)[2])
        self.assertIn("1 row is too few", self.columns(1, 1, 1, check=1)[2])

    def test_a_path_is_found_beside_the_sweep_file(self):
        write_labelled(self.dir / "mine.h5", 40, 2, 2)
        path, _ = self.sweep(self.write(environments=["mine.h5"], methods=["majority"], rollouts=2))
        self.assertEqual(set(archive(path)["environment"]), {"mine.h5"})


class SameBits(SweepTest):
    def check(self, sweep_file):
        alone, _ = self.sweep(sweep_file, "--threads", 1, out="alone.h5")
        for options in [("--threads", 2), ("--threads", 5), ("--shuffle", 1), ("--threads", 1, "--shuffle", 7),
                        ("--threads", 5, "--shuffle", 123456789)]:
            path, _ = self.sweep(sweep_file, *options, "--overwrite")
            self.assert_same_bits(alone, path)
        return alone

    def test_threads_and_order_change_nothing(self):
        self.check(self.write(environments=["pricing", "advertising", "gaussian", "multilabel", "categorical"],
                              methods=["baseline", "crm", "scrm"], seeds=[5], rollouts=3, lambdas=[1e-3, "auto"],
                              lambda_candidates=[1e-4, 1e-1], l2=[0, "auto"], max_iterations=10))

    def test_threads_and_order_change_nothing_on_scene(self):
        need_data("scene-train.arff")
        methods = ["baseline", "crm", "scrm", "all-zeros", "majority"]
        path = self.check(self.write(environments=["scene"], methods=methods, seeds=1, rollouts=2, lambdas=[1.0],
                                     data_dir=str(DATA_DIR), max_iterations=5))
        columns = archive(path)
        self.assertTrue(((columns["loss"] > 0) & (columns["loss"] < 1)).all())
        # A third is kept apart, each of the others is met four times.
        self.assertEqual(columns["rows"][1].tolist(), [1612 // 2 * 4, 1612 * 4])

    def test_a_run_does_not_know_which_other_runs_there_are(self):
        many, _ = self.sweep(self.write(environments=["advertising", "pricing"], methods=["scrm", "crm"], seeds=3,
                                        rollouts=3, lambdas=[0.1, 1e-4, "auto", 1e-2], l2=[0.0, 0.01]), out="many.h5")
        few, _ = self.sweep(self.write(environments=["pricing"], methods=["crm", "scrm"], seeds=[2], rollouts=3,
                                       lambdas=[1e-2], l2=0.01), out="few.h5")
        everything = runs(many)
        for key, value in runs(few).items():
            self.assertEqual(value, everything[key], key)

    def test_a_second_sweep_gives_the_same_bits_as_the_first(self):
        sweep_file = self.write(environments=["pricing"], methods=["scrm"], rollouts=2)
        self.assert_same_bits(self.sweep(sweep_file, out="a.h5")[0], self.sweep(sweep_file, out="b.h5")[0])


class Variants(SweepTest):
    def curves(self, tables="", **keys):
        """Loss curves by method, of one seed."""
        keys = {"environments": ["pricing"], "methods": ["scrm"], "rollouts": 3, "lambdas": 0.01, **keys}
        path, _ = self.sweep(self.write(tables=tables, **keys), "--overwrite")
        columns = archive(path)
        self.assertEqual(set(columns["status"]), {"ok"})
        self.columns = columns
        return {method: columns["loss"][i].tobytes() for i, method in enumerate(columns["method"])}

    def test_options_of_methods_give_runs_of_their_own(self):
        variants = {"same": "", "naive": 'past = "all-naive"', "balance": 'past = "all-balance"',
                    "cold": "warm_start = false", "se": 'penalty = "se"', "ips": 'estimator = "ips"',
                    "snips": 'estimator = "snips"', "alpha": "alpha = 0.5", "ridge": "l2 = 1.0",
                    "short": "max_iterations = 1", "boxed": "bound = [-0.5, 1.0]", "slow": "first_batch = 50"}
        tables = "".join(f'[method.{name}]\nlike = "scrm"\n{option}\n' for name, option in variants.items())
        # The protocol's penalty here is sd, which one rollout of 100 rows tells from se.
        curves = self.curves(tables, methods=["scrm", *variants], lambdas=0.1)
        self.assertEqual(curves["same"], curves["scrm"])
        for name in variants:
            if name != "same":
                self.assertNotEqual(curves[name], curves["scrm"], name)
        theta = dict(zip(self.columns["method"], self.columns["theta"]))
        self.assertTrue(((theta["boxed"] >= -0.5) & (theta["boxed"] <= 1)).all())
        self.assertLess((theta["ridge"][1:]**2).sum(), (theta["scrm"][1:]**2).sum())
        self.assertEqual(self.columns["rows"][self.columns["method"].index("slow")].tolist(), [50, 150, 350])

    def test_options_of_environments_hold_for_them_alone_and_those_of_methods_win(self):
        path, _ = self.sweep(self.write(
            environments=["pricing", "advertising"], methods=["crm", "scrm"], rollouts=2, lambdas=0.01,
            tables="[environment.advertising]\nfirst_batch = 30\nlambdas = [0.1, 0.2]\n[method.scrm]\nlambdas = 0.5\n"))
        columns = archive(path)
        found = list(zip(columns["environment"], columns["method"], columns["hyperparameter"].tolist(),
                         columns["rows"][:, 0].tolist()))
        self.assertEqual(found, [("pricing", "crm", 0.01, 100), ("pricing", "scrm", 0.5, 100),
                                 ("advertising", "crm", 0.1, 30), ("advertising", "crm", 0.2, 30),
                                 ("advertising", "scrm", 0.5, 30)])

    def test_auto_alone_and_beside_numbers(self):
        alone = self.curves(lambdas="auto", lambda_candidates=[1e-3, 1e-1], methods=["crm", "scrm"])
        self.assertEqual(self.columns["lambda_rule"], ["auto", "auto"])
        self.assertTrue(np.isnan(self.columns["hyperparameter"]).all())
        self.assertTrue(np.isin(self.columns["lambda"], [1e-3, 1e-1]).all())
        self.curves(lambdas=[1e-2, "auto", "theory"], lambda_candidates=[1e-3, 1e-1], methods=["crm", "scrm"])
        self.assertEqual(self.columns["lambda_rule"], ["given", "auto", "theory"] * 2)
        self.assertEqual(self.columns["hyperparameter"][[0, 3]].tolist(), [1e-2] * 2)
        for i, method in [(1, "crm"), (4, "scrm")]:
            self.assertEqual(self.columns["loss"][i].tobytes(), alone[method])
        rows = np.array([100, 300, 700])
        theory = np.sqrt(18 * (11 * np.log(rows) + np.log(2 / 0.05)))
        np.testing.assert_allclose(self.columns["lambda"][2], theory, rtol=1e-12)

    def test_every_l2_is_a_run(self):
        self.curves(l2=[0, 1e-3, 10.0], lambdas=[1e-3, 1e-1], methods=["crm"])
        self.assertEqual(self.columns["l2"].tolist(), [0, 1e-3, 10.0] * 2)
        self.assertEqual(self.columns["hyperparameter"].tolist(), [1e-3] * 3 + [1e-1] * 3)
        self.assertEqual(len({loss.tobytes() for loss in self.columns["loss"]}), 6)

    def test_l2_by_auto_is_a_run_beside_the_numbers_and_says_what_it_chose(self):
        keys = dict(lambdas=[1e-2, "auto"], lambda_candidates=[1e-3, 1e-1], methods=["crm", "scrm"])
        alone = self.curves(**{**keys, "lambdas": "auto"}, l2="auto", l2_candidates=[1e-3, 0.1, 10.0])
        self.assertTrue(np.isnan(self.columns["l2"]).all())
        self.assertTrue(np.isin(self.columns["chosen_l2"], [1e-3, 0.1, 10.0]).all())
        self.assertTrue(np.isin(self.columns["lambda"], [1e-3, 1e-1]).all())
        self.curves(**keys, l2=[0.5, "auto"], l2_candidates=[1e-3, 0.1, 10.0])
        self.assertEqual(self.columns["lambda_rule"], ["given", "given", "auto", "auto"] * 2)
        self.assertEqual(np.nan_to_num(self.columns["l2"], nan=-1).tolist(), [0.5, -1] * 4)
        self.assertEqual(np.isnan(self.columns["chosen_l2"]).all(axis=1).tolist(), [True, False] * 4)
        for i, method in [(3, "crm"), (7, "scrm")]:
            self.assertEqual(self.columns["loss"][i].tobytes(), alone[method])
        # What was chosen is what was used: a run with that number alone, in its first rollout, is the same.
        chosen, first = self.columns["chosen_l2"][1, 0], self.columns["loss"][1, 0]
        self.curves(**{**keys, "lambdas": 1e-2, "methods": ["crm"]}, l2=float(chosen))
        self.assertEqual(self.columns["loss"][0, 0], first)

    def test_l2_by_auto_is_a_line_of_its_own_in_tables_and_reports(self):
        path, done = self.sweep(self.write(environments=["pricing"], methods=["crm"], seeds=2, rollouts=2, lambdas=[0.1, 1],
                                           l2=[0.5, 5.0, "auto"], l2_candidates=[0.01, 1.0]), "--json")
        cells = json.loads(done.stdout)["table"]
        self.assertEqual([cell["l2"] for cell in cells], [0.5, 5.0, "auto"] * 2)
        self.assertEqual([cell["runs"] for cell in cells], [2] * 6)
        best = [cell for cell in cells if cell["best"]]
        self.assertEqual(sorted(str(cell["l2"]) == "auto" for cell in best), [False, True])
        run("report", path, "--out", self.dir / "page")
        table = (self.dir / "page" / "tables" / "losses.csv").read_text()
        self.assertIn(",auto,", table)
        self.assertIn("crm (auto l2)", (self.dir / "page" / "tables" / "losses.md").read_text())

    def test_epsilon_is_mixed_into_policies_over_bits(self):
        half = self.curves(environments=["multilabel"], epsilon=0.5)
        little = self.curves(environments=["multilabel"], epsilon=0.01)
        self.assertNotEqual(half, little)
        # All of it is a coin for every bit, whatever was learned.
        self.curves(environments=["multilabel"], epsilon=1.0)
        np.testing.assert_allclose(self.columns["loss"], 0.5, atol=0.01)

    def test_the_published_protocol_is_another_experiment(self):
        for environment in ["gaussian"] + (["scene"] if (DATA_DIR / "scene-train.arff").exists() else []):
            keys = dict(environments=[environment], data_dir=str(DATA_DIR), rollouts=2, max_iterations=5)
            self.assertNotEqual(self.curves(**keys), self.curves(**keys, protocol="published"), environment)
            with h5py.File(self.dir / "results.h5") as file:
                self.assertIn("protocol = published", file.attrs["options"])


class Output(SweepTest):
    def test_json_summarises_every_cell(self):
        sweep_file = self.write(environments=["pricing"], methods=["baseline", "crm"], seeds=3, rollouts=2,
                                lambdas=[1e-3, 0.1])
        out = self.dir / "results.h5"
        result = run_json("sweep", sweep_file, "--out", out, "--threads", 2)
        self.assertEqual(set(result),
                         {"archive", "runs", "failed", "resumed", "seconds", "cpu_seconds", "threads", "table",
                          "not_applicable"})
        self.assertEqual([result[key] for key in ["archive", "runs", "failed", "resumed", "threads"]],
                         [str(out), 9, 0, 0, 2])
        self.assertGreater(result["seconds"], 0)
        columns = archive(out)
        self.assertEqual(len(result["table"]), 3)
        for cell, at in zip(result["table"], [slice(0, 3), slice(3, 6), slice(6, 9)]):
            self.assertEqual(cell["environment"], "pricing")
            self.assertEqual((cell["runs"], cell["failed"]), (3, 0))
            self.assertAlmostEqual(cell["mean"], np.mean(columns["final_loss"][at]), delta=1e-12)
            self.assertAlmostEqual(cell["sd"], np.std(columns["final_loss"][at], ddof=1), delta=1e-12)
        self.assertEqual([cell["hyperparameter"] for cell in result["table"]], [None, 1e-3, 0.1])
        means = [cell["mean"] for cell in result["table"][1:]]
        self.assertEqual([cell["best"] for cell in result["table"]], [False] + [mean == min(means) for mean in means])

    def test_the_table_shows_the_best_of_each_list(self):
        sweep_file = self.write(environments=["pricing"], methods=["baseline", "crm"], seeds=2, rollouts=1,
                                lambdas=[1e-3, 100.0])
        path, done = self.sweep(sweep_file)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["environment", "method", "lambda", "loss", "seeds"])
        self.assertEqual(len([line for line in lines if " crm " in line]), 1)
        losses = archive(path)["final_loss"]
        self.assertIn(f"{min(losses[2:4].mean(), losses[4:6].mean()):.4f} ± ", done.stdout)
        self.assertIn(f"{losses[:2].mean():.4f} ± {losses[:2].std(ddof=1):.4f}", lines[1])
        self.assertIn(f"archive: {path}", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_help_shows_an_example_that_works(self):
        text = run("sweep", "--help").stdout
        example = text[text.index("Example"):]
        lines = [line.strip() for line in example.splitlines() if " = " in line]
        (self.dir / "compare.toml").write_text("\n".join(lines) + "\nrollouts = 1\n")
        command = next(line.split() for line in example.splitlines() if line.strip().startswith("scrm sweep"))
        run(*command[1:], cwd=self.dir)
        self.assertEqual(self.visible(), ["compare.toml", "results.h5"])


if __name__ == "__main__":
    main()
