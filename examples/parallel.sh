#!/usr/bin/env bash
# A sweep as several processes on one machine: N parts side by side, each with its own archive, then one archive of all.
# Run it again after an interruption and every part goes on where it was.
#
# Usage: examples/parallel.sh SWEEP.toml N RESULTS.h5
# SCRM names the program; default build/release/bin/scrm.
set -euo pipefail

scrm=$(realpath "${SCRM:-$(dirname "$0")/../build/release/bin/scrm}")
sweep=$1 parts=$2 results=$3
mkdir -p "$results.parts"

# GNU parallel does the same: parallel scrm sweep "$sweep" --part {}/"$parts" --out "$results.parts"/{}.h5 --resume ::: $(seq "$parts")
pids=()
for part in $(seq "$parts"); do
  "$scrm" sweep "$sweep" --part "$part/$parts" --threads 1 --out "$results.parts/$part.h5" --resume > "$results.parts/$part.txt" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done

"$scrm" merge "$results.parts"/*.h5 --out "$results"
