#!/usr/bin/env bash
# Kills and resumes sweeps, and kills commands that replace their outputs, for so many hours: threads, orders and
# instruction sets change all the time, the numbers may not. Prints counts every minute; ends at the first difference.
#
# Usage: tests/soak.sh HOURS [SEED]    hours may be a fraction; SCRM_PROGRAM names the program, default the release build
set -euo pipefail
cd "$(dirname "$0")/cli"
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' ../soak.sh; exit 2; }
exec /usr/bin/env PYTHONDONTWRITEBYTECODE=1 "${SCRM_PYTHON:-/usr/bin/python3}" soak.py "$@"
