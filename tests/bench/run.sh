#!/usr/bin/env bash
# Builds what the benchmark needs and runs it; see load.py.
#
#   tests/bench/run.sh [--check] [--issues N] [--large N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
conan/setup.sh >&2
conan/build.sh release lakeflow-host plugin_github github-server bench-floor >&2
export LAKEFLOW_BUILD=$PWD/build/release
exec python3 tests/bench/load.py "$@"
