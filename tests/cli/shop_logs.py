"""Made-up rewards of a shop with named features and actions, for tests of names, outcomes and exploration."""

import numpy as np

from harness import write_log

NAMES = ["age", "visits", "share"]
ACTIONS = ["tea", "coffee", "water", "nothing"]


def shop_log(path, order=(0, 1, 2), names=NAMES, rows=3000, seed=0, sparse=False, dtype=np.float64, **attributes):
    """Rewards of four actions, of which the best depends on the first two features; columns in any order."""
    random = np.random.default_rng(seed)
    context = np.stack([random.normal(40, 10, rows), random.normal(0, 1, rows), random.random(rows)], 1)
    action = random.integers(0, 4, rows)
    best = (context[:, 0] > 40) + 2 * (context[:, 1] > 0)
    reward = (action == best) + random.normal(0, 0.1, rows)
    columns = context[:, list(order)].astype(dtype)
    if sparse:
        columns = (np.arange(rows + 1) * 3, np.tile(np.arange(3), rows), columns.ravel(), 3)
    if names:
        attributes["context_columns"] = [names[j] for j in order]
    return write_log(path, action_kind="categorical", num_actions=4, context=columns, action=action.astype(np.int32),
                     loss=reward, propensity=np.full(rows, 0.25), attributes=attributes)
