#!/usr/bin/env bash
# From a fresh clone to a first answer: installs what is missing, builds, logs a million decisions of a simulated shop
# asks what two other pricing policies would have done, learns a better one, and compares learning once with learning
# again and again (CRM and SCRM), with a page to look at in the end. Run it again and only the questions are asked again.
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

install_packages $build_packages
build_preset release scrm

scrm=build/release/bin/scrm
work=build/quickstart
mkdir -p "$work"

if [ ! -d "$work/logs" ]; then
  say "Logging a million pricing decisions"
  "$scrm" simulate pricing --rows 1000000 --seed 1 --shards 4 --out "$work/logs"
fi

# The logging policy asks for the mean of the first three features; these two ask for more.
cat > "$work/dearer.toml" <<'POLICY'
kind     = "gaussian"
features = "linear"
scale    = 0.5
theta    = [0.0, 0.4, 0.4, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
POLICY
cat > "$work/dearest.toml" <<'POLICY'
kind     = "gaussian"
features = "linear"
scale    = 0.5
theta    = [0.0, 0.55, 0.55, 0.55, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
POLICY

say "What is in the logs"
"$scrm" inspect "$work/logs"

say "What two other policies would have done"
"$scrm" evaluate "$work/logs" --policy "$work/dearer.toml" --policy "$work/dearest.toml"

say "A better policy, learned from the same logs"
"$scrm" learn "$work/logs" --kind gaussian --scale 0.5 --lambda 1 --out "$work/learned.toml" --overwrite

say "Learn once or learn, deploy and learn again? CRM against SCRM, 10 seeds"
"$scrm" sweep examples/compare.toml --out "$work/results.h5" --overwrite

say "All of it as a page: tables, curves and times"
"$scrm" report "$work/results.h5" --out "$work/report" --overwrite

say "Open $PWD/$work/report/index.html in a browser. The program is $scrm; try $scrm reproduce --help"
