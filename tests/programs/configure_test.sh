#!/bin/bash
# The options of the build: what is missing is named with its remedy, what is off is said to be off.
set -euo pipefail

cmake=${CMAKE_COMMAND:-cmake}
directory=$(mktemp -d "${TMPDIR:-/tmp}/rondo-configure-XXXXXX")
trap 'rm -rf "$directory"' EXIT

# expect OUTCOME TEXT OPTION...: configuring with the options ends well or badly and says the text.
expect() {
    local outcome=$1 text=$2 got=ok
    shift 2
    "$cmake" -S "${RONDO_SOURCE_DIR:?}" -B "$directory/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" \
        >"$directory/out" 2>&1 || got=error
    # CMake wraps its error texts.
    if [ "$got" != "$outcome" ] || ! tr -s ' \n' ' ' <"$directory/out" | grep -qF -- "$text"; then
        echo "cmake $*: $got, expected $outcome with: $text" >&2
        cat "$directory/out" >&2
        exit 1
    fi
    rm -rf "$directory/build/CMakeCache.txt"
}

expect error 'RONDO_VERBS=ON, but it is missing: no infiniband/verbs.h' -DRONDO_VERBS=ON -DRONDO_VERBS_INCLUDE=
expect error 'apt-get install libibverbs-dev' -DRONDO_VERBS=ON -DRONDO_VERBS_INCLUDE=
expect error 'RONDO_MPI=ON, but it is missing: no mpicxx' -DRONDO_MPI=ON -DRONDO_MPICXX=
expect error 'RONDO_CUDA=ON, but it is missing: no CUDA compiler (nvcc)' -DRONDO_CUDA=ON -DRONDO_NVCC=
expect error 'RONDO_HWLOC=maybe: must be AUTO, ON or OFF' -DRONDO_HWLOC=maybe
expect ok 'CUDA off collectives on NVIDIA GPUs: switched off by RONDO_CUDA=OFF' -DRONDO_CUDA=OFF
expect ok 'tests off switched off by RONDO_BUILD_TESTS=OFF' -DRONDO_BUILD_TESTS=OFF
expect ok 'perf-tests on ' -DRONDO_BUILD_TESTS=OFF
expect ok 'sanitizers: thread' -DRONDO_BUILD_TESTS=OFF -DRONDO_SANITIZE=thread
echo "configure test: ok"
