#!/bin/bash
# The guide's programs are those in examples/, build against the library as a user would, and print what the guide
# says; the settings table and the names in the documents are those of the programs; the walk in architecture.md is as
# short as it says.
set -euo pipefail

source=${RONDO_SOURCE_DIR:?}
docs=$source/docs
build=${RONDO_BUILD_DIR:?}
directory=$(mktemp -d "${TMPDIR:-/tmp}/rondo-guide-XXXXXX")
trap 'rm -rf "$directory"' EXIT
export HOME=$directory

fail() {
    echo "guide test: $*" >&2
    exit 1
}

# listing EXAMPLE: the first fenced block after the line of the guide that names the file.
listing() {
    awk -v name="\`examples/$1\`" '
        inside && $0 == "```" { exit }
        inside
        index($0, name) { named = 1 }
        named && !inside && /^```/ { inside = 1 }' "$guide"
}

# --- The listings are the examples, and these run.
guide=$docs/guide.md
for example in first.c first.cpp survivors.c; do
    listing $example | diff - "$source/examples/$example" || fail "a listing of docs/guide.md is not examples/$example"
done

library=$build/src
flags=(-I"$source/include" -Wall -Wextra -Wpedantic -Werror)
link=(-L"$library" -lrondo "-Wl,-rpath,$library" -pthread)
# A sanitized library needs its runtime in the program too.
case $(readelf -d "$library/librondo.so") in
    *libasan*) link+=(-fsanitize=address) ;;
    *libtsan*) link+=(-fsanitize=thread) ;;
esac
cc -std=c11 "${flags[@]}" "$source/examples/first.c" -o "$directory/first_c" "${link[@]}"
c++ -std=c++20 "${flags[@]}" "$source/examples/first.cpp" -o "$directory/first_cpp" "${link[@]}"
cc -std=c11 "${flags[@]}" "$source/examples/survivors.c" -o "$directory/survivors" "${link[@]}"
[ "$("$directory/first_c")" = 'sum over 4 ranks: 60 64 68' ] || fail "first.c printed: $("$directory/first_c" 2>&1)"
[ "$("$directory/first_cpp")" = 'sum over 4 ranks: 60 4 8' ] || fail "first.cpp printed: $("$directory/first_cpp" 2>&1)"
survivors=$(timeout 60 "$directory/survivors" 2>&1) || fail "survivors.c failed: $survivors"
[ "$survivors" = '2 of 3 ranks came to the end' ] || fail "survivors.c printed: $survivors"
for line in 'sum over 4 ranks: 60 64 68' 'sum over 4 ranks: 60 4 8' '2 of 3 ranks came to the end'; do
    grep -qxF "$line" "$guide" || fail "docs/guide.md does not show: $line"
done

# --- docs/settings.md has every setting, with its default and allowed values, in the order of the program.
"$build/tools/rondo-topo" --settings --json | python3 -B -c '
import json, re, sys
rows = json.load(sys.stdin)["settings"]
table = re.findall(r"^\| `(RONDO_\w+)` \| (.*?) \| (.*?) \|", open(sys.argv[1], encoding="utf-8").read(), re.MULTILINE)
plain = lambda text: text.replace("`", "")
shown = [(name, plain(default), plain(allowed)) for name, default, allowed in table]
wanted = [(row["name"], row["default"] or "-", row["allowed"]) for row in rows]
for a, b in zip(shown + [None] * len(wanted), wanted):
    assert a == b, f"docs/settings.md has {a}, rondo-topo --settings has {b}"
assert len(shown) == len(wanted), f"docs/settings.md has {len(shown)} settings, rondo-topo {len(wanted)}"
' "$docs/settings.md"

# --- docs/errors.md has every result code; README.md, too, names only settings that exist.
for code in $(grep -oE 'rondo(Success|InProgress|Aborted|Timeout|[A-Za-z]+Error|Invalid[A-Za-z]+) = [0-9]+' "$source/include/rondo/rondo.h" |
    cut -d' ' -f1); do
    grep -q "^## .*\`$code\`" "$docs/errors.md" || fail "docs/errors.md has no section for $code"
done
known=$("$build/tools/rondo-topo" --settings | awk '/^RONDO_/ {print $1}')
for name in $(grep -ohE '\bRONDO_[A-Z_]+\b' "$source"/README.md "$docs"/*.md | sort -u); do
    case $name in
        RONDO_AGLO) continue ;;  # misspelt on purpose
        RONDO_TESTS_* | RONDO_BUILD_DIR | RONDO_SOURCE_DIR) continue ;;
        # CMake's.
        RONDO_CUDA | RONDO_VERBS | RONDO_MPI | RONDO_HWLOC | RONDO_PYTHON | RONDO_SANITIZE | RONDO_WERROR | RONDO_BUILD_*) continue ;;
    esac
    grep -qE "^#define $name( |\(|\$)" "$source/include/rondo/rondo.h" && continue
    grep -qx "$name" <<<"$known" || fail "the documents name $name, which is no setting"
done

# --- Files that the documents name exist.
for name in $(grep -ohE '`(src|include|tests|tools|perf-tests|examples|scripts|python|docs|cmake)/[A-Za-z0-9_./-]+`' \
    "$source"/README.md "$docs"/*.md | tr -d '`' | sort -u); do
    [ -e "$source/$name" ] || fail "the documents name $name, which does not exist"
done

# --- The walk of an all-reduce: its functions exist, the lengths are about right, and it is less than 1,500 lines.
# lines_of FILE NAME: lines of the functions or types of that name that begin at the left margin.
lines_of() {
    awk -v name="$2" '
        !inside && ($0 ~ "(^|[ :*&])" name "\\(" && $0 !~ /^[ }\/]/ && $0 !~ /;$/ ||
                    $0 ~ "^(struct|class) " name "( |$)") { inside = 1; n = 0 }
        inside { ++n; if ($0 ~ /^}/ || (n == 1 && $0 ~ /}$/)) { total += n; inside = 0 } }
        END { print total + 0 }' "$source/$1"
}

total=0
while IFS='|' read -r _ file names said _; do
    file=$(tr -d '` ' <<<"$file")
    lines=0
    if [ "$(tr -d ' ' <<<"$names")" = all ]; then
        lines=$(wc -l <"$source/$file")
    else
        for name in $(tr -d '`,' <<<"$names"); do
            found=$(lines_of "$file" "$name")
            [ "$found" -gt 0 ] || fail "docs/architecture.md names $name in $file, which is not there"
            lines=$((lines + found))
        done
    fi
    difference=$((lines > said ? lines - said : said - lines))
    [ $difference -le $((10 + lines / 5)) ] || fail "docs/architecture.md says $said lines of $file; there are $lines"
    total=$((total + lines))
done < <(grep -E '^\| `src/' "$docs/architecture.md")
{ [ $total -gt 500 ] && [ $total -lt 1500 ]; } || fail "the walk in docs/architecture.md is $total lines long"

echo "guide test: ok; the walk is $total lines"
