#!/usr/bin/env bash
# tests/land/histories.sh [--build FOLDER] [SEEDS]: the generated histories over all modes and destinations, compared with the oracle. SEEDS
# is "17" or "1-150", the default: 14 histories a seed, 2,100 in all. A failure names mode and seed, which alone runs it again:
#     LAKEFLOW_LAND_SEEDS=217 build/release/tests/land_postgres_test --run_test=scd2_is_what_the_oracle_says
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/release
if [[ ${1:-} == --build ]]; then
  build=$2
  shift 2
fi
export LAKEFLOW_LAND_SEEDS=${1:-1-150}
failed=()
for test in land_duckdb_test land_postgres_test land_jsonl_test; do
  echo "== $test, seeds $LAKEFLOW_LAND_SEEDS"
  "$build/tests/$test" --run_test='*_is_what_the_oracle_says' || failed+=("$test")
done
echo "== delta_model_test, seeds $LAKEFLOW_LAND_SEEDS"
"$build/tests/delta_model_test" || failed+=(delta_model_test)
if ((${#failed[@]})); then
  echo "histories: differs from the oracle: ${failed[*]}" >&2
  exit 1
fi
echo "histories: all agree with the oracle"
