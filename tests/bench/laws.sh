#!/usr/bin/env bash
# Builds what the measurement needs and runs it; see laws.py. Needs valgrind (conan/setup.sh --test).
#
#   tests/bench/laws.sh [--check] [--rows N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
conan/build.sh release lakeflow-host many_rows >&2
export LAKEFLOW_BUILD=$PWD/build/release
exec python3 tests/bench/laws.py "$@"
