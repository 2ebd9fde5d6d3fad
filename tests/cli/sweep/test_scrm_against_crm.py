"""Deploying what was learned is worth it: over seeds, SCRM ends no worse than CRM where there are finitely many actions."""
# labels: slow cli statistical

import numpy as np

import harness
from sweeps import SweepTest, archive


class ScrmAgainstCrm(SweepTest):
    def test_scrm_is_at_least_as_good_as_crm_on_categorical_and_multilabel(self):
        # Seeds are fixed, so there are no false alarms; four of them, at the rollouts a sweep has by default, show what ten
        # do. A run whose searches begin at the last policy and that learns from the last batch alone ends 0.2 above CRM.
        path, _ = self.sweep(self.write(environments=["categorical", "multilabel"], methods=["crm", "scrm"], seeds=4,
                                        lambdas=[0.01]))
        columns = archive(path)
        for environment in ["categorical", "multilabel"]:
            mean = {method: np.mean([loss for e, m, loss in zip(columns["environment"], columns["method"],
                                                                 columns["final_loss"]) if (e, m) == (environment, method)])
                    for method in ["crm", "scrm"]}
            self.assertLessEqual(mean["scrm"], mean["crm"], environment)


if __name__ == "__main__":
    harness.main()
