#!/bin/bash
# ctest: TIMEOUT 300
# Installs into a directory of its own, builds outside programs by CMake and by pkg-config, runs them, uninstalls.
set -euo pipefail

cmake=${CMAKE_COMMAND:-cmake}
build=${RONDO_BUILD_DIR:?}
source=${RONDO_SOURCE_DIR:?}
directory=$(mktemp -d "${TMPDIR:-/tmp}/rondo-install-XXXXXX")
manifest=$build/install_manifest.txt
restore() {
    if [ -e "$directory/manifest" ]; then cp "$directory/manifest" "$manifest"; fi
    rm -rf "$directory"
}
trap restore EXIT
# An install that the user made from this build directory stays known.
if [ -e "$manifest" ]; then cp "$manifest" "$directory/manifest"; fi

fail() {
    echo "install test: $*" >&2
    exit 1
}

prefix=$directory/prefix
"$cmake" --install "$build" --prefix "$prefix" >"$directory/install.log" || fail "install failed: $(cat "$directory/install.log")"
libdir=$(dirname "$(find "$prefix" -name 'librondo.so')")
[ -e "$prefix/include/rondo/rondo.h" ] || fail "no rondo.h was installed"
[ -e "$libdir/librondo.so.0" ] || fail "no librondo.so.0 in $libdir"

echo "== moved tree, find_package(rondo)"
mv "$prefix" "$directory/moved"
moved_libdir=$directory/moved/${libdir#"$prefix"/}
"$cmake" -S "$source/tests/install" -B "$directory/by-cmake" -DCMAKE_PREFIX_PATH="$directory/moved" \
    >"$directory/configure.log" || fail "configure failed: $(cat "$directory/configure.log")"
"$cmake" --build "$directory/by-cmake" >"$directory/build.log" || fail "build failed: $(cat "$directory/build.log")"
"$directory/by-cmake/consumer_c"
"$directory/by-cmake/consumer_cpp"

echo "== pkg-config"
export PKG_CONFIG_PATH=$moved_libdir/pkgconfig
read -r -a flags <<<"$(pkg-config --cflags --libs rondo) -Wl,-rpath,$moved_libdir"
cc -std=c99 -Wall -Werror "$source/tests/install/consumer.c" -o "$directory/consumer_c" "${flags[@]}"
c++ -std=c++20 -Wall -Werror "$source/tests/install/consumer.cpp" -o "$directory/consumer_cpp" "${flags[@]}" -pthread
"$directory/consumer_c"
"$directory/consumer_cpp"
[ "$(pkg-config --modversion rondo)" = "$("$directory/moved/bin/rondo-topo" --version | cut -d' ' -f2 | tr -d ,)" ] ||
    fail "rondo.pc and rondo-topo differ about the version"

echo "== installed programs find the library"
"$directory/moved/bin/all_reduce_perf" -t 2 -b 8 -e 64 -n 2 -w 1 >"$directory/perf.log" ||
    fail "all_reduce_perf failed: $(cat "$directory/perf.log")"

echo "== uninstall"
mv "$directory/moved" "$prefix"
# What the target "uninstall" runs.
"$cmake" -P "$build/uninstall.cmake" >"$directory/uninstall.log"
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || fail "left after uninstall: $left"
[ ! -e "$prefix/include/rondo" ] || fail "include/rondo was left"
echo "install test: ok"
