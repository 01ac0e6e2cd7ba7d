#!/usr/bin/env bash
# Prints the path of a Python 3.11 or newer, after checking that everything a build needs is on this machine; otherwise
# says what to install. `PYTHON=/path/to/python` overrides the search.
set -euo pipefail

missing=()

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=""
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if new_enough "$candidate"; then
        python=$("$candidate" -c 'import sys; print(sys.executable)')
        break
    fi
done
if [ -z "$python" ]; then
    found=$(${PYTHON:-python3} --version 2>/dev/null || echo none)
    missing+=("Python 3.11 or newer (found: $found): https://www.python.org/downloads")
elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    missing+=("the venv module of $python (Debian and Ubuntu: apt-get install python3-venv)")
fi

rust=$(rustc --version 2>/dev/null | sed -E 's/^rustc ([0-9]+)\.([0-9]+).*/\1 \2/' || true)
read -r major minor <<<"${rust:-0 0}"
if ! command -v cargo >/dev/null || [ "$((major * 1000 + minor))" -lt 1095 ]; then
    missing+=("Rust 1.95 or newer (found: $(rustc --version 2>/dev/null || echo none)): https://rustup.rs, or \`rustup update stable\`")
fi

command -v cc >/dev/null || missing+=("a C compiler, to link with (Debian and Ubuntu: apt-get install gcc libc6-dev)")

if [ "${#missing[@]}" -gt 0 ]; then
    echo "pyburn cannot be built here yet. Please install:" >&2
    printf '  - %s\n' "${missing[@]}" >&2
    exit 1
fi
echo "$python"
