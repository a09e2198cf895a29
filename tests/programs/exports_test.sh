#!/bin/bash
# librondo.so exports rondo* and nothing else, and needs no library beyond the few that are meant.
set -euo pipefail

library=$(find "${RONDO_BUILD_DIR:?}" -name 'librondo.so' -not -path '*/install*' | head -n 1)
[ -n "$library" ] || { echo "no librondo.so below $RONDO_BUILD_DIR" >&2; exit 1; }

# The version node itself is an absolute symbol.
symbols=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
strangers=$(grep -v '^rondo' <<<"$symbols" || true)
if [ -n "$strangers" ]; then
    echo "symbols that must not be exported:" >&2
    echo "$strangers" >&2
    exit 1
fi

# Every function that the header declares is there.
declared=$(grep -ohE '^RONDO_API [^(]*\(' "${RONDO_SOURCE_DIR:?}"/include/rondo/rondo.h | grep -oE 'rondo[A-Za-z]+\(' | tr -d '(' | sort -u)
missing=$(comm -23 <(echo "$declared") <(sort -u <<<"$symbols"))
extra=$(comm -13 <(echo "$declared") <(sort -u <<<"$symbols"))
[ -z "$missing" ] || { echo "declared and not exported: $missing" >&2; exit 1; }
[ -z "$extra" ] || { echo "exported and not declared: $extra" >&2; exit 1; }

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
others=$(grep -vE '^(libstdc\+\+|libgcc_s|libc|libm|libpthread|ld-linux-[a-z0-9-]+|libhwy|libsodium|libhwloc|lib(a|t|ub)san)\.so' <<<"$needed" || true)
[ -z "$others" ] || { echo "librondo.so needs unexpected libraries: $others" >&2; exit 1; }

echo "$(wc -l <<<"$declared") symbols exported; needs: $(tr '\n' ' ' <<<"$needed")"
