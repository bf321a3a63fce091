#!/usr/bin/env bash
# Builds what a benchmark needs and runs it: the load of issues (load.py) and with --check the merge of a large table too (merge.py), or
# with --postgres the read of a database (postgres.py).
#
#   tests/bench/run.sh [--check] [--issues N] [--large N]
#   tests/bench/run.sh --postgres [--check] [--rows N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LAKEFLOW_BUILD=$PWD/build/release
if [ "${1:-}" = --postgres ]; then
    shift
    conan/setup.sh --test >&2
    conan/build.sh release lakeflow-host plugin_postgres >&2
    exec python3 tests/bench/postgres.py "$@"
fi
conan/setup.sh --test >&2
conan/build.sh release lakeflow-host plugin_github github-server bench-floor merge-bench >&2
python3 tests/bench/load.py "$@"
if [[ " $* " == *" --check "* ]]; then
    "${LAKEFLOW_CACHE:-$HOME/.cache/lakeflow}/python-test/bin/python" tests/bench/merge.py "$LAKEFLOW_BUILD/tests/merge-bench" --check
fi
