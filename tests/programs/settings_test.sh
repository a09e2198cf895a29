#!/bin/bash
# rondo-topo: the settings table, its JSON, and what bad settings and bad command lines do.
set -euo pipefail

topo=${RONDO_BUILD_DIR:?}/tools/rondo-topo
directory=$(mktemp -d "${TMPDIR:-/tmp}/rondo-settings-XXXXXX")
trap 'rm -rf "$directory"' EXIT
export HOME=$directory

# expect STATUS PATTERN COMMAND...: the command ends with STATUS and its output has a line that matches PATTERN.
expect() {
    local status=$1 pattern=$2 got=0
    shift 2
    "$@" >"$directory/out" 2>&1 || got=$?
    if [ "$got" != "$status" ] || ! grep -qE -- "$pattern" "$directory/out"; then
        echo "$*: status $got (expected $status), expected a line like: $pattern" >&2
        cat "$directory/out" >&2
        exit 1
    fi
}

expect 0 '^rondo [0-9]+\.[0-9]+\.[0-9]+, commit ' "$topo" --version
expect 0 'RONDO_\* setting' "$topo" --help
expect 0 '^RONDO_TIMEOUT +600 +600 +default +' "$topo" --settings
expect 0 '^RONDO_TIMEOUT +2\.5 +600 +environment +' env RONDO_TIMEOUT=2.5 "$topo" --settings
expect 2 '' "$topo"
expect 2 '--no-such-flag' "$topo" --no-such-flag
expect 2 'json requires --settings' "$topo" --json

echo 'RONDO_NSLOTS=9' >"$directory/.rondo.conf"
expect 0 "^RONDO_NSLOTS +9 +4 +$directory/.rondo.conf:1 " "$topo" --settings
echo 'RONDO_NSLOTS=99' >"$directory/.rondo.conf"
expect 1 "^error: $directory/.rondo.conf:1: RONDO_NSLOTS=99: '99' is out of range \(allowed: 1 to 64\)" "$topo" --settings
rm "$directory/.rondo.conf"

expect 1 "^error: environment: RONDO_ALGO=rinng: .*did you mean 'ring'" env RONDO_ALGO=rinng "$topo" --settings
expect 1 '^RONDO_ALGO +rinng \(bad\) ' env RONDO_ALGO=rinng "$topo" --settings
expect 0 '^warning: .*unknown setting RONDO_AGLO is ignored; did you mean RONDO_ALGO' env RONDO_AGLO=ring "$topo" --settings

RONDO_PROTO=simple "$topo" --settings --json | python3 -B -c '
import json, sys
table = {entry["name"]: entry for entry in json.load(sys.stdin)["settings"]}
assert len(table) >= 15, len(table)
assert table["RONDO_PROTO"]["value"] == "simple" and table["RONDO_PROTO"]["source"] == "environment"
assert all(entry["meaning"] and entry["allowed"] and entry["type"] for entry in table.values())
'
# Bytes that are no UTF-8 still make JSON.
got=0
RONDO_PROTO=$'\xff' "$topo" --settings --json >"$directory/json" || got=$?
[ "$got" = 1 ]
python3 -B -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$directory/json"
echo "settings test: ok"
