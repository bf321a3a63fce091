#!/usr/bin/env bash
# expect_report.sh PROGRAM PATTERN: passes where PROGRAM ends with an error and prints PATTERN.
set -uo pipefail
output=$("$1" 2>&1)
status=$?
echo "$output"
if [ "$status" = 0 ]; then
    echo "expected: a non-zero exit" >&2
    exit 1
fi
if ! grep -qE "$2" <<<"$output"; then
    echo "expected in the output: $2" >&2
    exit 1
fi
