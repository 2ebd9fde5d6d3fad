#!/usr/bin/env bash
# The loop: a shop logs, learns a policy from its logs, deploys it, and learns again from what the deployment logged.
# The simulated shop stands for the world: it shows contexts and answers every price with a loss (minus the revenue).
#
# Usage: examples/loop.sh [FOLDER]    a new folder for logs and policies; default a temporary one
# SCRM names the program; default build/release/bin/scrm.
set -euo pipefail

scrm=$(realpath "${SCRM:-$(dirname "$0")/../build/release/bin/scrm}")
work=${1:-$(mktemp -d)}
mkdir -p "$work"
cd "$work"

# Rollout T of a policy: customers that nobody has met before, twice as many each time, and what they cost.
deploy() {
  local rollout=$1
  shift
  "$scrm" simulate pricing --rows $((2000 << rollout)) --seed 1 --rollout "$rollout" --out "logs-$rollout" "$@" > /dev/null
  echo "rollout $rollout, deployed: $("$scrm" evaluate "logs-$rollout" --policy "policy-$rollout.toml" | grep '^mean loss')"
}

deploy 0 --policy-out policy-0.toml
how=(--kind gaussian --scale 0.5)
for rollout in 1 2 3 4; do
  # From all logs so far, each row with the propensity it was logged with. Revenue lies far from zero: less its mean, a
  # policy gains nothing by heavy weights alone.
  "$scrm" learn logs-* "${how[@]}" --centre-losses --out "policy-$rollout.toml" > "learned-$rollout.txt"
  how=(--start "policy-$rollout.toml")
  echo "rollout $rollout, foreseen: $(grep -o 'on .* rows held out.*' "learned-$rollout.txt")"
  deploy "$rollout" --policy "policy-$rollout.toml"
done

echo "where: $PWD"
