#!/usr/bin/env bash
# Builds and tests. ./test.sh: everything; ./test.sh LABEL: the tests of one label (fast, slow, io, threads, isa,
# statistical, cli, python).
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

install_packages $build_packages $test_packages
build_preset release
say "Testing${1:+ ($1)}"
run_tests release ${1:+-L "^$1\$"}
for tool in chromium xmllint; do
  command -v "$tool" >/dev/null || say "There is no $tool here: tests that look at pages and pictures with it were skipped"
done
