#!/bin/bash
# ctest: TIMEOUT 120
# rondo-plan: lists, dumps, verifies, and refuses bad plans and bad input with the right exit status and a clear text.
set -euo pipefail

plan=${RONDO_BUILD_DIR:?}/tools/rondo-plan
directory=$(mktemp -d "${TMPDIR:-/tmp}/rondo-plan-XXXXXX")
trap 'rm -rf "$directory"' EXIT

# expect STATUS TEXT ARGUMENT...: the exit status, and the text on stdout or (status 2) stderr.
expect() {
    local status=$1 text=$2 got=0
    shift 2
    "$plan" "$@" >"$directory/out" 2>"$directory/err" || got=$?
    local where=$directory/out
    [ "$status" != 2 ] || where=$directory/err
    if [ "$got" != "$status" ] || { [ -n "$text" ] && ! grep -qF -- "$text" "$where"; }; then
        echo "rondo-plan $*: status $got, expected $status with: $text" >&2
        cat "$directory/out" "$directory/err" >&2
        exit 1
    fi
}

expect 0 'halving_doubling' list
expect 0 'all_reduce/tree, rank 2 of 5' dump all_reduce --algo tree --ranks 5 --rank 2
expect 0 'verified with' verify all_reduce --ranks 4
expect 0 'count 1000' verify all_reduce --algo direct --ranks 3 --count 1000 --in-place
expect 0 'verified with' verify all_reduce --algo hierarchical --ranks 8 --hosts 4x2
expect 0 '' dump all_reduce --ranks 4 --channels 2 --json -o "$directory/ring.json"
expect 0 'all_reduce/ring, 4 ranks, 2 channels' verify "$directory/ring.json"

# While there are shapes, all of them: written, read back, verified.
"$plan" list | tail -n +2 | while read -r collective algorithm _; do
    hosts=()
    [ "$algorithm" != hierarchical ] || hosts=(--hosts 4x2)
    expect 0 '' dump "$collective" --algo "$algorithm" --ranks 8 "${hosts[@]}" --json -o "$directory/plan.json"
    expect 0 'verified with' verify "$directory/plan.json"
done

# A plan with a fault is refused with its place: the last factor forgotten, a message to the wrong rank.
sed '0,/"post":true,/s///' "$directory/ring.json" >"$directory/factor.json"
expect 1 'refused: all_reduce/ring, rank' verify "$directory/factor.json"
sed '0,/"publish":true,"peer":1/s//"publish":true,"peer":2/' "$directory/ring.json" >"$directory/peer.json"
expect 1 'refused: all_reduce/ring, rank' verify "$directory/peer.json"

# A file that is no plan.
sed '0,/"kind":"move"/s//"kind":"mvoe"/' "$directory/ring.json" >"$directory/name.json"
expect 2 'name.json: /plans/0/channels/0/lanes/0/blocks/0/steps/0/kind: "mvoe" is none of move, post, wait' \
    verify "$directory/name.json"
head -c 700 "$directory/ring.json" >"$directory/short.json"
expect 2 'short.json: no valid JSON' verify "$directory/short.json"
sed 's/"repeat":[0-9]*/"repeat":99999999/' "$directory/ring.json" >"$directory/repeat.json"
expect 2 'is 99999999, allowed are 0 to' verify "$directory/repeat.json"
expect 2 'cannot be read' verify "$directory/absent.json"
expect 2 'cannot be read' verify "$directory"

# Bad arguments.
expect 2 '' --bogus
expect 2 '' dump
expect 2 'is no collective' dump all_reduced
expect 2 'has no algorithm "bruck"; it has ring' dump all_reduce --algo bruck
expect 2 '--ranks' dump all_reduce --ranks 0
expect 2 '--ranks' dump all_reduce --ranks 99999
expect 2 '--rank is 4, but there are 4 ranks' dump all_reduce --rank 4
expect 2 '--root is 4, but there are 4 ranks' dump broadcast --root 4
expect 2 'needs --hosts' dump all_reduce --algo hierarchical --ranks 8
expect 2 'not of the form HOSTSxRANKS' dump all_reduce --hosts 4by2
expect 2 '3 hosts of 3 are 9 ranks' dump all_reduce --hosts 3x3
expect 2 'always holds the plans of all ranks' dump all_reduce --rank 1 --json
expect 2 'cannot be written' dump all_reduce -o "$directory/no/such/folder/file"
expect 2 'has no shape in the catalogue' verify send_recv
echo "rondo-plan test: ok"
