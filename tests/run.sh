#!/usr/bin/env bash
# Sets the machine up, builds the project and runs its tests. A second run builds and downloads only what changed.
#
#   tests/run.sh [--preset release|debug|tsan] [--only REGEX] [--spark] [-j N]
#
# --preset  release (default), debug (ASan and UBSan) or tsan (the engine's tests under ThreadSanitizer)
# --only    the tests whose name matches
# --spark   also the test that reads the tables back with Apache Spark: brings Java 17 and Spark, 600 MB
# -j        tests at once, default 3: many of them wait
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "${BASH_SOURCE[0]}"
}

preset=release
jobs=3
setup=(--test)
select=(--label-exclude spark)
while [ $# -gt 0 ]; do
    case $1 in
        --preset | --only | -j)
            [ $# -ge 2 ] || { echo "tests/run.sh: $1 needs a value" >&2; exit 2; }
            case $1 in
                --preset) preset=$2 ;;
                --only) select+=(--tests-regex "$2") ;;
                -j) jobs=$2 ;;
            esac
            shift 2
            ;;
        --spark)
            setup+=(--spark)
            select=("${select[@]:2}")
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            echo "tests/run.sh: unknown argument $1" >&2
            usage >&2
            exit 2
            ;;
    esac
done
[ "$preset" != tsan ] || setup+=(--tsan)

conan/setup.sh "${setup[@]}"
conan/build.sh "$preset"

# Ends with ctest's own summary. Sanitizers stop at the first report and say where it came from.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
exec ctest --preset "$preset" --output-on-failure --parallel "$jobs" "${select[@]}"
