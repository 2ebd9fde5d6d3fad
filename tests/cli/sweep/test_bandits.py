"""`scrm sweep` with batch bandits: what their runs leave in the archive, and what is refused."""
# labels: slow cli

import numpy as np

from harness import DATA_DIR, main, need_data
from sweeps import SweepTest, archive, write_labelled

BKUCB_BITS = '[method.bkucb-bits]\nlike = "bkucb"\nencoding = "bits"\n'
BITS = '[method.sbpe-bits]\nlike = "sbpe"\nencoding = "bits"\n' + BKUCB_BITS


class Bandits(SweepTest):
    def of(self, columns, **keys):
        """Numbers of the runs with these values."""
        return [i for i in range(len(columns["seed"])) if all(columns[key][i] == keys[key] for key in keys)]

    def test_continuous_actions_leave_their_curves_in_the_archive(self):
        path, _ = self.sweep(self.write(environments=["pricing"], methods=["baseline", "sbpe", "bkucb"], seeds=2,
                                        rollouts=5, lambdas=[1e-3, 1e-2]))
        columns = archive(path)
        # The sweep's lambdas are not theirs.
        self.assertEqual(columns["hyperparameter"].tolist()[2:], [0, 0, 1, 1, 10, 10, 100, 100])
        self.assertEqual(set(columns["status"]), {"ok"})
        for i in self.of(columns, method="sbpe") + self.of(columns, method="bkucb"):
            self.assertEqual(columns["rows"][i].tolist(), [100, 300, 700, 1500, 3100])
            self.assertEqual(columns["lambda_rule"][i], "given")
            self.assertEqual(len(columns["theta"][i]), 0)
            features = 12 if columns["method"][i] == "sbpe" else 78
            self.assertEqual(columns["dimension"][i].tolist(), [features] * 5)
            self.assertEqual(columns["trace_error"][i].tolist(), [0] * 5)
            np.testing.assert_array_equal(columns["loss_without_epsilon"][i], columns["loss"][i])
        # A reward that bends with the price is learned by squares and not by a plane.
        for seed in (0, 1):
            best = columns["final_loss"][self.of(columns, method="bkucb", seed=seed, hyperparameter=10)][0]
            self.assertLess(best, columns["final_loss"][self.of(columns, method="baseline", seed=seed)][0] - 1)
            self.assertLess(best, columns["final_loss"][self.of(columns, method="sbpe", seed=seed)][0] - 1)

    def test_numbers_are_the_same_at_any_number_of_threads(self):
        write_labelled(self.dir / "data.h5", 300, 6, 4)
        sweep_file = self.write(environments=["pricing", str(self.dir / "data.h5")], rollouts=4, bandit_lambdas=[1.0],
                                methods=["sbpe", "bkucb", "sbpe-bits", "bkucb-bits", "bkucb-points", "bkucb-powers"],
                                seeds=2,
                                tables=BITS + '[method.bkucb-points]\nlike = "bkucb"\nkernel = "gaussian"\n'
                                              'length = 1.0\npoints = 40\n'
                                              '[method.bkucb-powers]\nlike = "bkucb"\npoints = 20\n')
        one, _ = self.sweep(sweep_file, "--threads", "1", out="one.h5")
        for threads in ("2", "5"):
            other, _ = self.sweep(sweep_file, "--threads", threads, out=f"{threads}.h5")
            self.assert_same_bits(one, other)

    def test_inducing_points_are_compared_with_twice_as_many(self):
        tables = "".join(f'[method.p{points}]\nlike = "bkucb"\nkernel = "gaussian"\nlength = 1.0\npoints = {points}\n'
                         for points in (3, 300)) + '[method.exact]\nlike = "bkucb"\n'
        path, _ = self.sweep(self.write(environments=["advertising"], methods=["p3", "p300", "exact"], rollouts=3,
                                        bandit_lambdas=1.0, compare_points=True, tables=tables))
        columns = archive(path)
        changed = columns["changed_actions"]
        self.assertTrue(np.isnan(changed[:, :-1]).all())  # asked once, in the end
        few, many, exact = changed[:, -1]
        self.assertGreater(few, 0.05)
        self.assertLess(many, 0.01)
        self.assertTrue(np.isnan(exact))
        self.assertGreater(columns["trace_error"][0, -1], columns["trace_error"][1, -1])

    def test_the_options_of_bandits_change_what_they_play(self):
        tables = ('[method.by-batch]\nlike = "bkucb"\nbeta = "batches"\n[method.cubic]\nlike = "bkucb"\ndegree = 3\n'
                  '[method.plane]\nlike = "bkucb"\nkernel = "linear"\n')
        path, _ = self.sweep(self.write(environments=["advertising"], methods=["bkucb", "by-batch", "cubic", "plane"],
                                        rollouts=4, bandit_lambdas=1.0, tables=tables))
        columns = archive(path)
        self.assertEqual(columns["dimension"][:, -1].tolist(), [10, 10, 20, 4])
        self.assertEqual(len({loss.tobytes() for loss in columns["loss"]}), 4)

    def test_labels_are_scored_with_epsilon_and_without(self):
        write_labelled(self.dir / "data.h5", 400, 5, 3)
        path, _ = self.sweep(self.write(environments=[str(self.dir / "data.h5")], rollouts=4, epsilon=0.2, tables=BITS,
                                        methods=["all-zeros", "sbpe", "bkucb", "sbpe-bits", "bkucb-bits"]))
        columns = archive(path)
        plain = columns["loss_without_epsilon"][1:]
        np.testing.assert_allclose(columns["loss"][1:], 0.8 * plain + 0.1, rtol=1e-12)
        self.assertEqual(columns["dimension"][:, -1].tolist()[1:], [7, 28, 28, 28, 24, 24, 24, 24])

    def test_labels_as_one_large_integer_are_learned_from(self):
        write_labelled(self.dir / "data.h5", 400, 60, 22)
        path, _ = self.sweep(self.write(environments=[str(self.dir / "data.h5")], rollouts=3, bandit_lambdas=1.0,
                                        methods=["bkucb", "bkucb-few"],
                                        tables='[method.bkucb-few]\nlike = "bkucb"\npoints = 30\n'))
        columns = archive(path)
        self.assertEqual(columns["status"], ["ok", "ok"])
        # Every context is a point, and then 30 of them; with them 61 features of the context and the action's square.
        self.assertGreater(columns["dimension"][0, -1], 62 + 100)
        self.assertLess(columns["trace_error"][0, -1], 1e-9)
        self.assertEqual(columns["dimension"][1, -1], 62 + 30)
        self.assertGreater(columns["trace_error"][1, -1], 0.01)

    def test_scene_with_one_integer_is_never_better_than_its_best_constant(self):
        need_data("scene-train.arff")
        path, _ = self.sweep(self.write(environments=["scene"], methods=["all-zeros", "sbpe", "bkucb-bits"], rollouts=3,
                                        data_dir=str(DATA_DIR), bandit_lambdas=10.0,
                                        tables='[method.sbpe]\nbandit_lambdas = 0.0\n' + BKUCB_BITS))
        loss = archive(path)["final_loss"]
        self.assertGreaterEqual(loss[1], loss[0] - 1e-12)
        self.assertLess(loss[2], loss[0])

    def test_what_does_not_fit_fails_with_a_way_out_and_the_others_go_on(self):
        write_labelled(self.dir / "wide.h5", 40, 3, 31)
        write_labelled(self.dir / "long.h5", 3000, 150, 2)
        path, _ = self.sweep(self.write(environments=[str(self.dir / "wide.h5"), str(self.dir / "long.h5")], rollouts=2,
                                        methods=["all-zeros", "sbpe", "bkucb"], bandit_lambdas=1.0), "--memory", "100M",
                             check=1)
        columns = archive(path)
        self.assertEqual(columns["status"], ["ok", "failed", "failed", "ok", "ok", "failed"])
        self.assertIn('31 labels are too many for one integer', columns["message"][1])
        self.assertIn('encoding = "bits"', columns["message"][2])
        self.assertIn("budget", columns["message"][5])
        self.assertIn('use encoding = "bits", or inducing points such as points = 1000', columns["message"][5])

    def test_options_that_cannot_be_are_named_with_their_line(self):
        for key, value, wanted in [("kernel", "cubic", '"linear", "polynomial", "gaussian"'), ("degree", 0, "from 1"),
                                   ("length", 0.0, "above 0"), ("beta", 1.0, '"rows", "batches"'),
                                   ("encoding", "bit", '"integer", "bits"'), ("points", 0, "from 1"),
                                   ("bandit_lambdas", [1.0, -1.0], "0 or more"),
                                   ("bandit_lambdas", [2.0, 2.0], "comes twice"), ("bandit_lambda", 1.0, "bandit_lambdas")]:
            with self.subTest(key=key, value=value):
                sweep_file = self.write(environments=["pricing"], methods=["bkucb"], **{key: value})
                _, done = self.sweep(sweep_file, check=2)
                self.assertIn(f"line 3: {key}: ", done.stderr)
                self.assertIn(wanted, done.stderr)


if __name__ == "__main__":
    main()
