#!/usr/bin/env bash
# fuzz/run.sh MINUTES [TARGET...]: fuzzes for so long in all, under sanitizers, the time shared by the targets (default all).
# With clang it is libFuzzer that searches, from the corpus and from what it found before; without, the driver mutates the
# corpus. Inputs that end badly are kept in build/fuzz/findings/TARGET: once fixed, they belong into fuzz/corpus/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:?usage: fuzz/run.sh MINUTES [TARGET...]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in fuzz/targets/*.cpp; do targets+=("$(basename "$file" .cpp)"); done
fi
seconds=$((minutes * 60 / ${#targets[@]}))
[ "$seconds" -gt 0 ] || seconds=1
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export LSAN_OPTIONS=suppressions=$PWD/cmake/sanitizers/leak.supp:print_suppressions=0

preset=fuzz
command -v clang++ >/dev/null || preset=asan
cmake --preset "$preset" --log-level=WARNING
cmake --build "build/$preset" --target "${targets[@]/#/fuzz_}"

failed=0
for target in "${targets[@]}"; do
  program=build/$preset/fuzz/fuzz_$target
  findings=build/fuzz/findings/$target
  found=build/fuzz/found/$target
  mkdir -p "$findings" "$found"
  echo "== $target: $seconds s"
  if [ "$preset" = fuzz ]; then
    # Forked: a finding is kept and the search goes on. A gigabyte is far more than any of these inputs is worth.
    "$program" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 -max_total_time="$seconds" -timeout=10 \
      -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$findings/" "$found" "fuzz/corpus/$target" 2>&1 |
      { grep -E '^#[0-9]+: cov|ERROR|SUMMARY' || true; } | tail -n 5
  else
    end=$((SECONDS + seconds))
    seed=$RANDOM
    while [ $SECONDS -lt $end ]; do
      "$program" --mutate 2000 --seed $seed --keep "$findings" "fuzz/corpus/$target" || true
      seed=$((seed + 1))
    done
  fi
  if [ -n "$(ls -A "$findings")" ]; then
    echo "$target: $(ls "$findings" | wc -l) inputs ended badly, see $findings"
    failed=1
  fi
done
exit $failed
