#!/usr/bin/env bash
# Builds oneTBB with ThreadSanitizer from the source package of Debian's own libtbb-dev and installs it into a folder of the cache.
#
#   conan/build_tsan_tbb.sh FOLDER
#
# Debian's libtbb is not instrumented: TSan does not see the order that its scheduler makes between tasks, and reports races that are
# none. A suppression that names libtbb would hide ours as well, since every task of ours runs below a frame of libtbb.
# The system's list of sources stays as it is: apt gets a copy of its own that asks for source packages.
set -euo pipefail
folder=$1
version=$(dpkg-query -W -f '${source:Version}' libtbb-dev)
package=$(dpkg-query -W -f '${source:Package}' libtbb-dev)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/sources.d" "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
shopt -s nullglob
for file in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/sources.d/${file##*/}"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] && sed -n 's/^deb\(-src\)\?[[:space:]]/deb-src /p' "$file" >"$work/sources.d/${file##*/}.list"
done
apt_source() {
    apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources.d" -o Dir::State::Lists="$work/lists" \
        -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}
apt_source update
(cd "$work/source" && apt_source source "$package=$version")

flags="-fsanitize=thread -Wno-tsan -g1"
cmake -S "$work"/source/*/ -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS="$flags" \
    -DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=thread -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib \
    -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
cmake --build "$work/build"
rm -rf "$folder"
cmake --install "$work/build"
