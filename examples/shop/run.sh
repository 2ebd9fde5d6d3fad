#!/usr/bin/env bash
# A shop's log from CSV to a better policy, and once round the loop: import, inspect, evaluate, learn, act, log, learn.
# The shop is simulated (shop.py), so what every policy is really worth is known, and printed at the end.
#   examples/shop/run.sh [FOLDER] [ROWS]     default build/shop and 200,000
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scrm=${SCRM_PROGRAM:-$root/build/release/bin/scrm}
work=${1:-$root/build/shop}
rows=${2:-200000}
shop() { "${PYTHON:-python3}" "$here/shop.py" "$@"; }
rm -rf "$work" && mkdir -p "$work" && cd "$work"
run() { printf '\n$ scrm %s\n' "$*"; "$scrm" "$@"; }

# January: today's rule shows one of eight items to every visitor.
shop customers "$rows" 1 | shop show 2 > january.csv
run import january.csv --out january --action-kind categorical --context age,phone_share,visits,basket \
    --categorical city --impute mean --action item --reward-column revenue --propensity propensity --encoding shop.toml
run inspect january

# Would it be better to show items at random? What can be learned?
printf 'kind = "uniform"\n' > uniform.toml
run evaluate january --policy uniform.toml
# Revenues lie far from zero, and snips does not care where zero lies.
run learn january --estimator snips --out first.toml
run evaluate january --holdout-of first.toml --estimator snips

# February: the first policy shows the items, and logs how likely they were.
shop customers "$rows" 3 > visitors.csv
run act first.toml --contexts visitors.csv --encoding shop.toml --seed 4 --csv shown.csv
shop earn 5 < shown.csv > february.csv
run import february.csv --out february --action-kind categorical --action action --reward-column revenue \
    --propensity propensity --encoding shop.toml --rollout 1
run learn january february --estimator snips --out second.toml

# What is all that worth? Draws for visitors nobody has seen yet, and what the shop earns from them on average.
shop customers "$rows" 6 > future.csv
printf '\n%-22s %s\n' "policy" "really earns a visit"
for policy in uniform first second; do
  options=()
  [ $policy = uniform ] && options=(--action-kind categorical --num-actions 8)
  "$scrm" act $policy.toml --contexts future.csv --encoding shop.toml --seed 7 "${options[@]}" --csv $policy.csv --quiet > /dev/null
  read -r worth today best < <(shop worth < $policy.csv)
  printf '%-22s %s\n' "$policy" "$worth"
done
printf '%-22s %s\n' "today's rule" "$today" "the best there is" "$best"
