#!/usr/bin/env bash
# Loads a repository into a Delta lake, changes it, and loads it again: what lakeflow-host is for, in one command.
#
#   host/demo.sh                                       a made-up repository on a GitHub-shaped server of this machine
#   GITHUB_TOKEN=... host/demo.sh OWNER REPOSITORY     that repository, from GitHub; run it again later to load what changed
#
# Sets the machine up and builds where that is needed. LAKEFLOW_DEMO_URL names another GitHub, such as an Enterprise server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case $# in
    0) owner=octo repository=demo ;;
    2) owner=$1 repository=$2 ;;
    *)
        echo "host/demo.sh: no argument, or an owner and a repository" >&2
        exit 2
        ;;
esac
if [ $# = 2 ] && [ -z "${GITHUB_TOKEN:-}" ]; then
    echo "host/demo.sh: GITHUB_TOKEN is not set; GitHub answers 60 requests an hour without one" >&2
    exit 2
fi

conan/setup.sh
echo "demo: building"
mkdir -p build
if ! conan/build.sh release lakeflow-host plugin_github github-server >build/demo.build.log 2>&1; then
    tail -n 60 build/demo.build.log >&2
    exit 1
fi
host=build/release/lakeflow-host
folder=build/demo/$owner-$repository
url=${LAKEFLOW_DEMO_URL:-https://api.github.com}

# The made-up GitHub: it ends when its standard input closes, so also when this script is killed.
if [ $# = 0 ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    export GITHUB_TOKEN=demo-token
    coproc server {
        exec build/release/github-server --repo "$owner/$repository" --issues 2000 --pulls 300 --comments 1500 --commits 1200 \
            --reviews-per-pull 1 --branches 4 --token "$GITHUB_TOKEN" --exit-with-stdin
    }
    read -r listening <&"${server[0]}"
    url=${listening#*\"url\":\"}
    url=${url%%\"*}
fi
mkdir -p "$folder"

control() {
    python3 - "$url/__control/$1" "$2" <<'PYTHON'
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=sys.argv[2].encode(), method="POST")).read()
PYTHON
}

{
    cat <<TOML
[job]
name = "demo-$owner-$repository"
plugin = "github"
trigger = "available_now"

[connection]
base_url = "$url"
token = { env = "GITHUB_TOKEN" }

[destination]
type = "delta"
path = "lake"
TOML
    for table in issues pull_requests comments commits reviews assignees collaborators branches; do
        printf '\n[[tables]]\nsource = "%s"\noptions = { owner = "%s", repo = "%s" }\n' "$table" "$owner" "$repository"
    done
    printf '\n[[tables]]\nsource = "repositories"\noptions = { owner = "%s" }\n' "$owner"
    for table in users organizations teams; do
        printf '\n[[tables]]\nsource = "%s"\n' "$table"
    done
} >"$folder/job.toml"

load() {
    echo
    echo "\$ lakeflow-host --plugin github.so --config $folder/job.toml"
    "$host" --plugin build/release/plugins/github.so --config "$folder/job.toml" --report "$folder/report.json"
}

load
if [ $# = 0 ]; then
    echo
    echo "demo: on the server 7 issues are edited, 3 opened and 2 commits pushed"
    control edit '{"table": "issues", "count": 7, "set": {"title": "edited by the demo"}}'
    control add '{"table": "issues", "count": 3}'
    control push '{"count": 2}'
    load
    echo
    echo "demo: nothing changes"
    load
fi
echo
echo "demo: the lake is in $folder/lake; each folder is a Delta table that Spark, delta-rs and DuckDB open:"
for table in "$folder"/lake/*/; do
    printf '  %-16s %3d commits, %s\n' "$(basename "$table")" "$(find "$table/_delta_log" -name '0*.json' | wc -l)" "$(du -sh "$table" | cut -f1)"
done
