"""The commands behind the golden test: a small battery over every command, kind, estimator, interval and method.

`numbers(folder)` runs them in a folder and returns every number they gave, by a readable key, as text: hexadecimal doubles,
integers, or the digest of a whole column. The inputs are made by the program itself or by integer arithmetic, so that
they depend on no other library's random numbers.
"""

import hashlib
import os
import pathlib

import h5py
import numpy as np

from harness import run, run_json, write_log

# One instruction set and one OpenBLAS core, so that the numbers mean the same on every processor that has them.
FORCED = {"SCRM_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
# What a clock or the machine says.
UNSTABLE = {"seconds", "threads", "rows_per_second", "bytes", "out", "shards"}

ROWS = 5000  # three blocks, the last one short
SHOWN = 4  # numbers of a column that stand in the file beside the digest of all


class Battery:
    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.found = {}

    def numbers(self):
        self.simulate()
        self.importing()
        self.inspect()
        self.evaluate()
        self.learn()
        self.act()
        self.sweep()
        return self.found

    # Recording

    def run(self, *args, **options):
        return run(*args, "--quiet", env=FORCED, **options)

    def json(self, key, *args):
        self.record(key, run_json(*args, "--quiet", env=FORCED))

    def record(self, key, value):
        """Every number below a JSON value; lists of named things are keyed by their names."""
        if isinstance(value, dict):
            for name, part in value.items():
                if name not in UNSTABLE:
                    self.record(f"{key}/{name}", part)
        elif isinstance(value, list):
            for i, part in enumerate(value):
                name = i
                if isinstance(part, dict):
                    name = part.get("estimator") or part.get("name") or i
                self.record(f"{key}/{os.path.basename(str(name))}", part)
        elif isinstance(value, bool) or value is None:
            self.put(key, str(value).lower())
        elif isinstance(value, int):
            self.put(key, str(value))
        elif isinstance(value, float):
            self.put(key, value.hex())

    def record_array(self, key, values):
        """A digest of every bit, and the first numbers to look at."""
        values = np.ascontiguousarray(values)
        digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
        self.put(key, f"{values.dtype} {'x'.join(map(str, values.shape))} {digest}")
        for i, number in enumerate(values.reshape(-1)[:SHOWN]):
            self.record(f"{key}/{i}", number.item())

    def record_file(self, key, path):
        with h5py.File(path) as file:
            file.visititems(lambda name, node: self.record_array(f"{key}/{name}", node[()])
                            if isinstance(node, h5py.Dataset) and node.dtype.kind in "iuf" else None)

    def record_folder(self, key, path):
        for file in sorted(path.glob("*.h5")):
            self.record_file(f"{key}/{file.name}", file)

    def put(self, key, text):
        if key in self.found:
            raise AssertionError(f"the battery gives {key} twice")
        self.found[key] = text

    def policy(self, name, **keys):
        path = self.dir / f"{name}.toml"
        path.write_text("".join(f"{key} = {value!r}\n".replace("'", '"') for key, value in keys.items()))
        return path

    # The battery

    def simulate(self):
        def logs(name, environment, *options, rows=ROWS):
            self.run("simulate", environment, "--rows", rows, "--seed", 3, "--out", self.dir / name, *options)
            self.record_folder(f"simulate/{name}", self.dir / name)

        logs("gaussian", "gaussian", "--shards", 3)
        logs("pricing", "pricing", "--shards", 2)
        logs("advertising", "advertising", "--compress", "gzip", "--chunk-rows", 700)
        logs("categorical", "categorical", "--actions", 5, "--policy-out", self.dir / "logged.toml")
        logs("multilabel", "multilabel", "--actions", 4)
        logs("float32", "pricing", "--float32", rows=3000)
        logs("sparse", "categorical", "--actions", 3, "--sparse-features", 200, "--density", 0.05, rows=3000)
        logs("one_row", "pricing", rows=1)
        logs("one_action", "categorical", "--actions", 1, rows=50)
        self.near = self.policy("near", kind="gaussian", scale=0.8, theta=[0.1, 0.35, 0.33, 0.3] + [0.01] * 7)
        self.far = self.policy("far", kind="gaussian", scale=0.5, theta=[0.0, 0.55, 0.5, 0.6] + [0.0] * 7)
        logs("rollout", "pricing", "--policy", self.near, "--rollout", 1, rows=3000)

    def importing(self):
        def column(values):
            return [repr(v) if isinstance(v, float) else str(v) for v in values.tolist()]

        def csv(name, shard, *options, targets=()):
            with h5py.File(shard) as file:
                columns = {f"x{j}": column(file["context"][:, j]) for j in range(file["context"].shape[1])}
                action = file["action"][()]
                if action.ndim == 1:
                    columns["a"] = column(action)
                else:
                    columns.update({f"a{k}": column(action[:, k]) for k in range(action.shape[1])})
                columns["loss"] = column(file["loss"][()])
                if "label_propensity" in file:
                    bits = file["label_propensity"][()]
                    columns.update({f"p{k}": column(bits[:, k]) for k in range(bits.shape[1])})
                else:
                    columns["propensity"] = column(file["propensity"][()])
                columns.update({target: column(file["propensity"][()] * 0.5) for target in targets})
            path = self.dir / f"{name}.csv"
            path.write_text("\n".join(",".join(row) for row in [list(columns), *zip(*columns.values())]) + "\n")
            self.run("import", path, "--format", "csv", "--out", self.dir / f"{name}_csv", "--context", "x*", "--loss",
                     "loss", *options)
            self.record_folder(f"import/{name}", self.dir / f"{name}_csv")

        csv("pricing", self.dir / "pricing/part-00000.h5", "--action-kind", "continuous", "--action", "a", "--propensity",
            "propensity", "--shards", 2)
        csv("categorical", self.dir / "categorical/part-00000.h5", "--action-kind", "categorical", "--action", "a",
            "--propensity", "propensity", "--target", "half=h", targets=["h"])
        csv("multilabel", self.dir / "multilabel/part-00000.h5", "--action-kind", "multilabel", "--action",
            "a0,a1,a2,a3", "--label-propensity", "p0,p1,p2,p3", "--float32")

        state = 12345

        def draw(bound):
            nonlocal state
            state = (state * 1103515245 + 12345) % 2**31
            return (state >> 8) % bound

        features, labels, arff, libsvm = 6, 3, [], []
        for _ in range(400):
            x = [draw(2001) / 1000 - 1 for _ in range(features)]
            bits = [int(x[k] + x[k + 1] + draw(1001) / 1000 > 0.5) for k in range(labels)]
            arff.append(",".join([*map(repr, x), *map(str, bits)]))
            marked = ",".join(str(k + 1) for k in range(labels) if bits[k])
            libsvm.append(" ".join([marked or "", *(f"{j + 1}:{v!r}" for j, v in enumerate(x) if abs(v) > 0.4)]))
        header = ["@relation small", *(f"@attribute x{j} numeric" for j in range(features)),
                  *(f"@attribute l{k} {{0,1}}" for k in range(labels)), "@data"]
        (self.dir / "small.arff").write_text("\n".join(header + arff) + "\n")
        (self.dir / "small.svm").write_text("\n".join(libsvm) + "\n")
        self.run("import", self.dir / "small.arff", "--format", "arff", "--labels", labels, "--out", self.dir / "small.h5")
        self.run("import", self.dir / "small.svm", "--format", "libsvm", "--labels", labels, "--features", features,
                 "--out", self.dir / "small_sparse.h5")
        for name in ("small", "small_sparse"):
            self.record_file(f"import/{name}", self.dir / f"{name}.h5")

    def inspect(self):
        for name in ("gaussian", "pricing", "categorical", "multilabel", "float32", "sparse", "one_row", "categorical_csv",
                     "small.h5", "small_sparse.h5"):
            self.json(f"inspect/{name}", "inspect", self.dir / name)

    def evaluate(self):
        def evaluate(key, data, *options):
            self.json(f"evaluate/{key}", "evaluate", *data, *options)

        pricing = [self.dir / "pricing"]
        both = ["--policy", self.near, "--policy", self.far]
        for interval in ("auto", "normal", "student", "bernstein", "bootstrap", "cressie-read", "sequence"):
            evaluate(f"pricing/{interval}", pricing, *both, "--interval", interval, "--seed", 5, "--level", 0.9)
        evaluate("pricing/given", pricing, *both, "--clip", 1.5, "--alpha", 0.01, "--interval", "bootstrap",
                 "--replicates", 50)
        bounds = ["--outcome-range=-50:0", "--max-weight", 1000]
        for interval in ("bernstein", "cressie-read", "clopper-pearson", "sequence"):
            evaluate(f"pricing/bounded/{interval}", pricing, *both, "--interval", interval, *bounds)
        evaluate("pricing/simultaneous", pricing, *both, "--simultaneous", "--at-least", -4)
        evaluate("pricing/reward", pricing, "--policy", self.near, "--reward")
        quadratic = self.policy("quadratic", kind="gaussian", features="quadratic", scale=0.7,
                                theta=[0.2, 0.3, 0.3, 0.3] + [0.0] * 7 + [0.01] * 55)
        evaluate("pricing/quadratic", pricing, "--policy", quadratic)
        evaluate("float32", [self.dir / "float32"], *both)
        evaluate("one_row", [self.dir / "one_row"], "--policy", self.near)
        first = self.policy("first", kind="gaussian", scale=1.0, theta=[0.0] + [1 / 3] * 3 + [0.0] * 7)
        evaluate("rollouts", [self.dir / "pricing", self.dir / "rollout"], "--policy", self.far, "--logging-policy", first,
                 "--logging-policy", self.near)
        evaluate("gaussian", [self.dir / "gaussian"], "--policy", self.policy("point", kind="gaussian", scale=0.3,
                                                                              theta=[2.2]), "--interval", "bernstein")
        evaluate("lognormal", [self.dir / "advertising"], "--policy",
                 self.policy("lognormal", kind="lognormal", scale=0.5, theta=[0.6, 0.05, -0.02]), "--interval", "student")
        features = self.features("categorical")
        self.softmax = self.policy("softmax", kind="softmax", epsilon=0.1,
                                   theta=[[0.1 * k - 0.05 * j for j in range(features + 1)] for k in range(5)])
        uniform = self.policy("uniform", kind="uniform")
        for interval in ("normal", "bootstrap"):
            evaluate(f"categorical/{interval}", [self.dir / "categorical"], "--policy", self.softmax, "--policy", uniform,
                     "--interval", interval)
        evaluate("target", [self.dir / "categorical_csv"], "--target", "half", "--policy", uniform)
        sparse = self.features("sparse")
        evaluate("sparse", [self.dir / "sparse"], "--policy", self.policy(
            "sparse", kind="softmax", epsilon=0.05,
            theta=[[0.01 * ((7 * j + 3 * k) % 11 - 5) for j in range(sparse + 1)] for k in range(3)]))
        features = self.features("multilabel")
        bits = [[0.2 * k - 0.1 * j for j in range(features + 1)] for k in range(4)]
        self.multilabel = self.policy("multilabel", kind="multilabel", epsilon=0.1, mixing="label", theta=bits)
        joint = self.policy("joint", kind="multilabel", epsilon=0.2, theta=bits)
        for interval in ("normal", "bernstein", "bootstrap"):
            evaluate(f"multilabel/{interval}", [self.dir / "multilabel"], "--policy", self.multilabel, "--policy", uniform,
                     "--interval", interval)
        evaluate("multilabel/joint", [self.dir / "multilabel"], "--policy", joint, "--estimator", "ips,snips,clipped,ips-ix")
        self.bad = write_log(self.dir / "bad.h5", context=np.arange(3000.0).reshape(1000, 3) / 1000,
                             action=np.arange(1000) / 500, loss=np.where(np.arange(1000) % 97 == 5, np.nan, -(np.arange(1000) % 7) / 8),
                             propensity=np.where(np.arange(1000) % 89 == 7, 0.0, 0.25))
        evaluate("skipped", [self.bad], "--skip-bad-rows", "--policy",
                 self.policy("three", kind="gaussian", scale=1.0, theta=[0.5, 0.1, 0.1, 0.1]))

    def features(self, name):
        with h5py.File(self.dir / name / "part-00000.h5") as file:
            context = file["context"]
            return int(context.attrs["num_features"]) if isinstance(context, h5py.Group) else context.shape[1]

    def learn(self):
        def learn(key, name, *options):
            data = options[0] if options and isinstance(options[0], list) else [self.dir / name]
            options = options[1:] if options and isinstance(options[0], list) else options
            self.json(f"learn/{key}", "learn", *data, "--out", self.dir / f"learned-{key.replace('/', '-')}.toml",
                      "--seed", 4, *options)

        gaussian = ["--kind", "gaussian", "--scale", 0.5]
        for estimator in ("ips", "clipped", "snips", "ips-ix"):
            learn(f"gaussian/{estimator}", "pricing", *gaussian, "--estimator", estimator, "--lambda", 1)
        learn("gaussian/auto", "pricing", *gaussian, "--lambda", "auto")
        learn("gaussian/theory", "pricing", *gaussian, "--lambda", "theory", "--penalty", "sd")
        learn("gaussian/several", "pricing", *gaussian, "--lambda", "0.01,0.1,1", "--restarts", 3, "--l2", 0.001)
        learn("gaussian/bound", "pricing", *gaussian, "--lambda", 0.1, "--bound=-1.6:1.6")
        learn("gaussian/quadratic", "pricing", *gaussian, "--features", "quadratic", "--lambda", 1, "--max-iter", 30)
        learn("gaussian/start", "pricing", "--start", self.near, "--lambda", 0.5, "--holdout", 0, "--alpha", 0.01)
        learn("gaussian/balance", "pricing", [self.dir / "pricing", self.dir / "rollout"], *gaussian, "--lambda", 1,
              "--logging-policy", self.dir / "first.toml", "--logging-policy", self.near)
        learn("gaussian/float32", "float32", *gaussian, "--lambda", 1)
        learn("gaussian/reward", "pricing", *gaussian, "--lambda", 1, "--reward", "--max-iter", 10)
        learn("gaussian/skipped", "bad.h5", *gaussian, "--lambda", 0, "--skip-bad-rows", "--max-iter", 5, "--bound=-2:2")
        learn("lognormal", "advertising", "--kind", "lognormal", "--scale", 0.4, "--lambda", 0.1)
        for estimator in ("ips", "snips", "ips-ix"):
            learn(f"softmax/{estimator}", "categorical", "--kind", "softmax", "--epsilon", 0.1, "--lambda", 0.5,
                  "--estimator", estimator)
        learn("softmax/sparse", "sparse", "--kind", "softmax", "--epsilon", 0.05, "--lambda", 1, "--max-iter", 40)
        for estimator in ("snips", "ips-ix", "additive"):
            learn(f"multilabel/{estimator}", "multilabel", "--kind", "multilabel", "--epsilon", 0.1, "--mixing", "label",
                  "--lambda", 0.1, "--estimator", estimator, "--l2", 0.0001)
        learn("multilabel/joint", "multilabel", "--kind", "multilabel", "--epsilon", 0.1, "--lambda", 0.1)

    def act(self):
        def act(name, policy, data, *options):
            self.run("act", policy, "--contexts", self.dir / data, "--seed", 9, "--out", self.dir / f"acted_{name}",
                     "--rollout", 2, *options)
            self.record_folder(f"act/{name}", self.dir / f"acted_{name}")

        act("gaussian", self.near, "pricing", "--shards", 2)
        act("lognormal", self.dir / "lognormal.toml", "advertising")
        act("softmax", self.softmax, "categorical")
        act("sparse", self.dir / "sparse.toml", "sparse")
        act("multilabel", self.multilabel, "multilabel")
        act("joint", self.dir / "joint.toml", "multilabel")
        act("uniform", self.dir / "uniform.toml", "categorical", "--action-kind", "categorical", "--num-actions", 7)
        act("uniform_bits", self.dir / "uniform.toml", "pricing", "--action-kind", "multilabel", "--num-actions", 3)
        self.run("act", self.near, "--contexts", self.dir / "pricing.csv", "--context", "x*", "--keep", "x*", "--seed",
                 1, "--csv", self.dir / "acted.csv")
        text = (self.dir / "acted.csv").read_bytes()
        self.put("act/csv", f"{len(text)} bytes {hashlib.sha256(text).hexdigest()[:16]}")

    def sweep(self):
        def sweep(name, text):
            file = self.dir / f"{name}.toml"
            file.write_text(text)
            # Runs that cannot be (skyline where no action is known to be right) fail and are recorded as such: exit 1.
            self.run("sweep", file, "--out", self.dir / f"{name}.h5", check=None)
            with h5py.File(self.dir / f"{name}.h5") as archive:
                runs = archive["runs"]
                keys = self.run_keys(runs)
                for column in sorted(runs):
                    data = runs[column]
                    if column in UNSTABLE or column in ("environment", "method", "lambda_rule", "identity", "message"):
                        continue
                    for key, value in zip(keys, data.asstr()[()] if column == "status" else data[()]):
                        if column == "status":
                            self.put(f"sweep/{name}/{key}/status", value)
                        elif column == "theta":
                            self.record_array(f"sweep/{name}/{key}/theta", value)
                        else:
                            self.record(f"sweep/{name}/{key}/{column}", value.tolist())

        sweep("continuous", """
environments = ["gaussian", "pricing", "advertising"]
methods = ["baseline", "crm", "scrm", "skyline"]
seeds = [0, 3]
rollouts = 4
lambdas = [1e-3, "auto"]
""")
        sweep("published", """
environments = ["gaussian", "advertising", "small.h5"]
methods = ["baseline", "crm", "scrm"]
seeds = 1
rollouts = 3
lambdas = [1e-2, "theory", "log-rows"]
protocol = "published"
[environment."small.h5"]
lambdas = [1e-2, 10]
""")
        sweep("discrete", """
environments = ["categorical", "multilabel", "small.h5", "small_sparse.h5"]
methods = ["baseline", "crm", "scrm", "skyline", "all-zeros", "majority", "scrm-all", "scrm-additive"]
seeds = 1
rollouts = 3
lambdas = [1e-2]
[environment."small.h5"]
estimator = "snips"
[environment."small_sparse.h5"]
estimator = "snips"
[method.scrm-all]
like = "scrm"
past = "all-balance"
warm_start = false
[method.scrm-additive]
like = "scrm"
estimator = "additive"
l2 = [1e-4, 1e-2]
""")
        sweep("bandits", """
environments = ["pricing", "advertising", "small.h5"]
methods = ["sbpe", "bkucb", "bkucb-gaussian", "bkucb-bits", "bkucb-linear"]
seeds = 1
rollouts = 3
[method.bkucb-gaussian]
like = "bkucb"
kernel = "gaussian"
length = 1.0
points = 40
[method.bkucb-linear]
like = "bkucb"
kernel = "linear"
[method.bkucb-bits]
like = "bkucb"
encoding = "bits"
""")

    @staticmethod
    def run_keys(runs):
        """One readable key a run: environment, method, rule or λ, l2, seed."""
        keys = []
        for i, seed in enumerate(runs["seed"][()]):
            rule = runs["lambda_rule"].asstr()[i]
            penalty = f"{rule}-{float(runs['hyperparameter'][i])!r}-{float(runs['l2'][i])!r}"
            environment = os.path.basename(runs["environment"].asstr()[i])
            keys.append(f"{environment}/{runs['method'].asstr()[i]}/{penalty}/{seed}")
        return keys


def numbers(folder):
    return Battery(folder).numbers()
