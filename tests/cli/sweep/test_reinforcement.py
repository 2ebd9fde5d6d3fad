"""`scrm sweep` with ppo and trpo: what their runs leave in the archive, that they learn, and what is refused."""
# labels: slow cli

import h5py
import numpy as np

from harness import main, run
from sweeps import SweepTest, archive, write_labelled

CURVES = ("kl", "surrogate", "entropy", "value_loss", "steps")


class Reinforcement(SweepTest):
    def of(self, columns, **keys):
        """Numbers of the runs with these values."""
        return [i for i in range(len(columns["seed"])) if all(columns[key][i] == keys[key] for key in keys)]

    def test_every_kind_of_action_leaves_its_curves_in_the_archive(self):
        write_labelled(self.dir / "data.h5", 300, 6, 4)
        path, _ = self.sweep(self.write(environments=["pricing", "categorical", str(self.dir / "data.h5")],
                                        methods=["ppo", "trpo"], seeds=2, rollouts=4))
        columns = archive(path)
        self.assertEqual(set(columns["status"]), {"ok"})
        # As many values as PROTOCOL names, in the place of lambda.
        self.assertEqual(columns["hyperparameter"][:14].tolist(), [w for w in (.1, .2, .5, 1, 2, 5, 10) for _ in "ab"])
        self.assertTrue(np.isfinite(columns["loss"]).all())
        for name in CURVES:
            self.assertTrue(np.isfinite(columns[name][:, 1:]).all(), name)
        # The first batch was played by somebody else, and cloned.
        self.assertTrue(np.isnan(columns["kl"][:, 0]).all() and np.isnan(columns["surrogate"][:, 0]).all())
        pricing = np.array(columns["environment"]) == "pricing"
        self.assertTrue((columns["scale"][pricing] > 0).all())
        self.assertTrue(np.isnan(columns["scale"][~pricing]).all())
        trpo = np.array(columns["method"]) == "trpo"
        self.assertLessEqual(columns["kl"][trpo, 1:].max(), 0.01)
        self.assertGreaterEqual(columns["surrogate"][trpo, 1:].min(), -1e-12)
        sizes = {"pricing": 11, "categorical": 30, str(self.dir / "data.h5"): 28}
        self.assertEqual([len(theta) for theta in columns["theta"]], [sizes[name] for name in columns["environment"]])

    def test_numbers_are_the_same_at_any_number_of_threads_beside_any_other_method(self):
        write_labelled(self.dir / "data.h5", 200, 5, 3)
        methods = ["ppo", "trpo", "crm", "scrm", "bkucb"]
        options = dict(environments=["pricing", "gaussian", str(self.dir / "data.h5")], seeds=2, rollouts=3,
                       entropy_weights=[0.1, 2], lambdas=[0.01], bandit_lambdas=[1.0])
        one, _ = self.sweep(self.write(methods=methods, **options), "--threads", "1", out="one.h5")
        for threads in ("2", "7"):
            other, _ = self.sweep(self.write(methods=methods, **options), "--threads", threads, "--shuffle", threads,
                                  out=f"{threads}.h5")
            self.assert_same_bits(one, other)
        alone, _ = self.sweep(self.write(methods=["trpo", "ppo"], **options), out="alone.h5")
        both, solo = archive(one), archive(alone)
        for i in range(len(solo["seed"])):
            same = self.of(both, identity=solo["identity"][i])
            self.assertEqual(solo["loss"][i].tobytes(), both["loss"][same[0]].tobytes())

    def test_gaussian_approaches_the_optimum_of_the_spread_it_reached(self):
        path, _ = self.sweep(self.write(environments=["gaussian"], methods=["ppo", "trpo"], rollouts=40,
                                        growth="linear", first_batch=200, entropy_weights=[1, 2]))
        columns = archive(path)
        for method in ("ppo", "trpo"):
            i = min(self.of(columns, method=method), key=lambda i: columns["final_loss"][i])
            # -1 + 0.2 (sigma^2 + 0.09) at theta = 1
            optimum = -1 + 0.2 * (columns["scale"][i, -1] ** 2 + 0.09)
            self.assertLess(columns["loss"][i, -1] - optimum, 0.01, method)
            self.assertAlmostEqual(columns["theta"][i][0], 1, delta=0.2)
            self.assertLess(columns["loss"][i, -1], columns["loss"][i, 0] - 0.2)

    def test_every_option_changes_what_is_learned(self):
        changes = {"ppo": dict(pretraining_steps=3, pretraining_rate=0.1, minibatch=16, advantages='"plain"',
                               ppo_epochs=2, ppo_rate=1e-2, ppo_clip=0.01, value_weight=5, gradient_norm=1e-3),
                   "trpo": dict(trpo_kl=0.1, trpo_steps=1, trpo_damping=10, trpo_shrink=0.1, critic_epochs=1,
                                critic_rate=0.1, advantages='"plain"')}
        for method, options in changes.items():
            tables = "".join(f'[method.{key}]\nlike = "{method}"\n{key} = {value}\n' for key, value in options.items())
            path, _ = self.sweep(self.write(environments=["pricing"], methods=[method, *options], rollouts=4,
                                            first_batch=40, entropy_weights=0.1, tables=tables), out=f"{method}.h5")
            losses = [loss.tobytes() for loss in archive(path)["loss"]]
            self.assertEqual(len(set(losses)), len(losses), method)

    def test_degenerate_input_ends_with_a_status(self):
        tables = ('[method.fast]\nlike = "ppo"\nppo_rate = 1e4\n[method.fast-clone]\nlike = "trpo"\n'
                  'pretraining_rate = 1e300\n')
        sweep_file = self.write(environments=["pricing", "multilabel"], methods=["ppo", "trpo", "fast", "fast-clone"],
                                rollouts=3, first_batch=1, entropy_weights=1, tables=tables)
        path = self.dir / "degenerate.h5"
        message = run("sweep", sweep_file, "--out", path, check=1).stderr
        self.assertIn("use a smaller learning rate", message)
        columns = archive(path)
        for i, status in enumerate(columns["status"]):
            if status == "ok":
                self.assertTrue(np.isfinite(columns["loss"][i]).all(), columns["method"][i])
            else:
                self.assertIn("use a smaller learning rate", columns["message"][i])
        for method in ("ppo", "trpo"):
            self.assertEqual({columns["status"][i] for i in self.of(columns, method=method)}, {"ok"})

    def test_tables_call_the_entropy_weight_by_its_name(self):
        sweep = self.dir / "named.toml"
        sweep.write_text('environments = ["pricing"]\nmethods = ["scrm", "ppo", "mine"]\nseeds = 1\nrollouts = 2\nlambdas = [0.1, 1]\n'
                         'entropy_weights = [0.2, 0.3]\n[method.mine]\nlike = "trpo"\n')
        archive = self.dir / "named.h5"
        for shown in (run("sweep", sweep, "--out", archive).stdout, run("inspect", archive).stdout):
            lines = [line for line in shown.splitlines() if line.startswith(("environment", "pricing", " " * 8))]
            self.assertRegex(lines[0], "^environment  method  lambda  entropy weight  loss")
            at = lines[0].index("entropy weight")
            self.assertRegex(lines[1][:at], r"scrm +(0\.1|1) *$")
            self.assertEqual([(line[13:17].strip(), line[at:at + 5].strip() != "") for line in lines[1:]],
                             [("scrm", False), ("ppo", True), ("mine", True)])
        run("report", archive, "--out", self.dir / "page")
        losses, tried = ((self.dir / "page" / "tables" / f"{name}.md").read_text() for name in ("losses", "hyperparameters"))
        for method, name in (("scrm", "λ"), ("ppo", "entropy weight"), ("mine", "entropy weight")):
            self.assertRegex(losses, rf"\| {method} \| [^|]*\[{name} = 0?\.?\d+\](\*\*)? \|")
            self.assertRegex(tried, rf"\| pricing \| {method} \| {name} = ")
        with h5py.File(archive) as file:
            self.assertIn("hyperparameter", file["runs"])  # what outsiders read keeps its name
            self.assertIn("lambda_rule", file["runs"])

    def test_joint_mixing_is_left_out_with_a_word(self):
        path = self.dir / "joint.h5"
        done = run("sweep", self.write(environments=["multilabel"], methods=["baseline", "ppo"], mixing="joint",
                                       rollouts=2), "--out", path)
        self.assertIn("ppo is left out on multilabel: mixing = \"joint\" makes its bits depend", done.stderr)

    def test_memory_that_does_not_suffice_is_refused_before_it_is_taken(self):
        path = self.dir / "large.h5"
        message = run("sweep", self.write(environments=["pricing"], methods=["ppo"], rollouts=16, entropy_weights=1),
                      "--out", path, "--memory", "64M", check=1).stderr
        self.assertIn("use fewer rollouts", message)


if __name__ == "__main__":
    main()
