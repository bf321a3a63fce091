#!/usr/bin/env bash
# Form of the files that git knows: clang-format, shellcheck, JSON and Python syntax, the sizes that CONTRIBUTING names, and no path of
# one machine. `tests/tools/check_format.sh --fix` formats the C and C++ files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failed=0
complain() {
    echo "format: $*"
    failed=1
}

mapfile -t code < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.c' '*.cpp')
if [ ${#code[@]} -gt 0 ]; then
    if [ "${1:-}" = --fix ]; then clang-format-14 -i "${code[@]}"; fi
    while read -r file; do
        complain "$file is not as clang-format writes it (tests/tools/check_format.sh --fix)"
    done < <(clang-format-14 --dry-run "${code[@]}" 2>&1 | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u)
    for file in "${code[@]}"; do
        case $file in
            *.h | *.hpp) most=300 ;;
            tests/* | *_test.cpp) most=800 ;;
            *) most=600 ;;
        esac
        lines=$(wc -l <"$file")
        [ "$lines" -le "$most" ] || complain "$file has $lines lines, more than $most: split it by idea"
    done
fi

mapfile -t scripts < <(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run)
shellcheck "${scripts[@]}" || complain "shellcheck"
for file in "${scripts[@]}"; do
    [ -x "$file" ] || complain "$file has no run bit"
done
while read -r file; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" || complain "$file"
done < <(git ls-files --cached --others --exclude-standard -- '*.py')
while read -r file; do
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file" || complain "$file is not JSON"
done < <(git ls-files --cached --others --exclude-standard -- CMakePresets.json)

if git grep -nIE '[[:space:]]+$' -- '*.h' '*.hpp' '*.c' '*.cpp' '*.cmake' 'CMakeLists.txt' '*.sh' '*.py' '*.toml'; then complain "white space at the end of a line"; fi
if git grep -nIE '(/home/[a-z]+/|/root/)' -- . ':!tests/tools/check_format.sh'; then complain "a path of one machine"; fi
[ "$failed" = 0 ] && echo "format: ${#code[@]} C and C++ files, ${#scripts[@]} scripts"
exit "$failed"
