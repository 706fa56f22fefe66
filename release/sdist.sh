#!/bin/sh
# Builds an sdist as a user does, installs it into an empty environment, and runs the tests that it brings.
#
# Usage: sdist.sh SDIST [PYTHON]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
sdist=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf "$sdist" -C "$work"
cd "$work"/kodec-*
"${2:-python3}" -m venv "$work/env"
# the locked versions; pip takes hashes only where every requirement has one, and the sdist has none
sed -e '/^ /d' -e 's/ *\\$//' "$root/requirements/dev.txt" >"$work/versions.txt"
KODEC_NATIVE=require "$work/env/bin/pip" install -q -c "$work/versions.txt" "$sdist[arrow,cli]" hypothesis jinja2 jsonschema kaitaistruct lz4 pytest pyyaml
"$work/env/bin/python" -I tests/packaging/smoke.py native
"$work/env/bin/python" -m pytest -q -p no:cacheprovider tests/runtime tests/generated tests/log/reading tests/log/messages tests/log/verification
