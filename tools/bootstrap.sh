#!/bin/sh
# Chooses a Python that kodec supports, then lets bootstrap.py prepare the named target.
set -eu

here=${0%/*}
fits='import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] <= (3, 14)))'
whole='import ensurepip, venv'
bare=

# The Python of .venv comes first, or a change of PATH would rebuild everything.
for python in ${PYTHON:-"$here/../.venv/bin/python" python3.14 python3.13 python3.12 python3.11 python3}; do
    "$python" -c "$fits" >/dev/null 2>&1 || continue
    if "$python" -c "$whole" >/dev/null 2>&1; then
        exec "$python" "$here/bootstrap.py" "$@"
    fi
    bare=$python
done

if [ -n "$bare" ]; then
    echo "kodec: $bare has no venv module; on Debian and Ubuntu it is the package python3-venv" >&2
elif [ -n "${PYTHON:-}" ]; then
    echo "kodec: PYTHON=$PYTHON is not a Python 3.11, 3.12, 3.13 or 3.14" >&2
else
    echo "kodec: needs Python 3.11 to 3.14 as python3 or python3.N on PATH; or say PYTHON=/path/to/python" >&2
fi
exit 1
