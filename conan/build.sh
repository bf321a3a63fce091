#!/usr/bin/env bash
# Configures a preset where that is needed, and builds it: what host/demo.sh, tests/run.sh and .ci/run share.
#
#   conan/build.sh PRESET [TARGET...]        the targets default to those of the build preset
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
log=build/$preset.configure.log
mkdir -p build
if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
arguments=(--preset "$preset" --parallel "$(nproc)")
[ $# = 0 ] || arguments+=(--target "$@")
exec cmake --build "${arguments[@]}"
