#!/usr/bin/env bash
# Installs the named Debian packages that are missing when run as root, otherwise stops and says which they are.
set -euo pipefail

missing=()
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "Installing the system packages ${missing[*]} (apt-get, you are root)."
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "Please install the system packages: ${missing[*]} (apt-get install ${missing[*]}), then try again." >&2
    exit 1
fi
