#!/usr/bin/env bash
# Compiles the extension and puts it beside the Python sources.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

# Clones share the target directory, and cargo goes by the age of files alone: what another clone has built from other
# sources, but later than this one was checked out, it would take for ours.
built=$target/release/.built-from
sources=$(find src Cargo.toml Cargo.lock -type f -print0 | sort -z | xargs -0 cksum | cksum)
[ "$(cat "$built" 2>/dev/null)" = "$sources" ] || touch src/lib.rs

cargo build --release --locked
echo "$sources" >"$built"
for library in "$target"/release/lib_core.{so,dylib}; do
    [ -f "$library" ] || continue
    # Replaced, not overwritten: a running Python still maps the old file.
    cp "$library" python/pyburn/_core.abi3.so.new
    mv python/pyburn/_core.abi3.so.new python/pyburn/_core.abi3.so
done
