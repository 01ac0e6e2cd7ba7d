#!/usr/bin/env bash
# Compiles the extension and puts it beside the Python sources.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

cargo build --release --locked
for library in "$target"/release/lib_core.{so,dylib}; do
    [ -f "$library" ] || continue
    # Replaced, not overwritten: a running Python still maps the old file.
    cp "$library" python/pyburn/_core.abi3.so.new
    mv python/pyburn/_core.abi3.so.new python/pyburn/_core.abi3.so
done
