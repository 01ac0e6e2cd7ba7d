#!/usr/bin/env bash
# Runs the unit tests of the crate against the shared libpython of the Python given as the first argument.
set -euo pipefail
cd "$(dirname "$0")/.."

library=$("$1" -c 'import sysconfig as s; print(s.get_config_var("LIBDIR") + "/" + s.get_config_var("LDLIBRARY"))')
case "$library" in
    *.so | *.dylib) [ -f "$library" ] ;;
    *) false ;;
esac || {
    echo "The unit tests of the crate need a shared libpython, and $1 has none: they are left out." >&2
    exit 0
}

# The name that src/lib.rs links under `cfg(test)`; found through LIBRARY_PATH, which cargo does not take for a reason
# to compile the dependencies again.
links=$(mktemp -d)
trap 'rm -rf "$links"' EXIT
ln -s "$library" "$links/libpyburn_test_python.${library##*.}"
export LIBRARY_PATH=$links${LIBRARY_PATH:+:$LIBRARY_PATH}
export LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Little of what they run is slow, and compiling it is: the dependencies are those of the release.
cargo test --quiet --release --locked --lib --config profile.release.package.pyburn.opt-level=1
