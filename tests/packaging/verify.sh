#!/bin/sh
# Builds wheels of kodec and tries each way to install it, from a copy of the tree. Needs uv; C compiler included.
#
# Usage: verify.sh [PYTHON...]   (versions or paths; without, those of 3.11 to 3.14 that uv finds)
# The wheels stay in dist/.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
src=$work/kodec
dist=$root/dist
smoke=$root/tests/packaging/smoke.py
folders='generated generator runtime schemas'

copy() {
    mkdir "$1"
    (cd "$root" && tar cf - --exclude='*.so' --exclude=__pycache__ $folders src tests setup.py pyproject.toml \
        MANIFEST.in Makefile LICENSE NOTICE README.md CHANGELOG.md) | tar xf - -C "$1"
}
# Reports what works in a fresh environment of Python $1 after installing the other arguments.
try() {
    expected=$1 python=$2
    shift 2
    rm -rf "$work/env"
    uv venv -q -p "$python" "$work/env"
    uv pip install -q -p "$work/env" pyarrow "$@"
    (cd / && "$work/env/bin/python" -I "$smoke" "$expected")
}
must_fail() {
    if "$@" >"$work/said" 2>&1; then
        echo "this should have failed: $*"
        exit 1
    fi
}
step() { echo "== $*"; }

if [ $# -eq 0 ]; then
    for version in 3.11 3.12 3.13 3.14; do
        if uv python find -q "$version" >/dev/null 2>&1; then
            set -- "$@" "$version"
        else
            echo "-- Python $version is not here"
        fi
    done
fi
first=$1
unset CC
rm -rf "$dist"

step "sdist, and a wheel made from it for each Python"
copy "$src"
uv build -q --sdist -p "$first" -o "$dist" "$src"
for python in "$@"; do
    KODEC_NATIVE=require uv build -q --wheel -p "$python" -o "$dist" "$dist"/*.tar.gz
    tag=$(uv run -q --no-project -p "$python" python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    try native "$python" "$dist"/*"-$tag-$tag-"*.whl
done

if [ -f "$root/src/kodec/pipeline/jvm/kodec-spark.jar" ]; then
    step "the source for the JVM in the wheel: in Spark, and sent to a server of Spark Connect"
    tag=$(uv run -q --no-project -p "$first" python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    rm -rf "$work/env"
    uv venv -q -p "$first" "$work/env"
    wheel=$(echo "$dist"/*"-$tag-$tag-"*.whl)
    uv pip install -q -p "$work/env" "kodec[spark] @ file://$wheel" 'pyspark[connect]'
    for each in spark connect; do
        (cd / && "$work/env/bin/python" -I "$root/tests/packaging/$each.py" "$root/tests/data/kafka-4.3.1/logs")
    done
fi

step "no C compiler: pure Python"
CC=/bin/false uv build -q --wheel -p "$first" -o "$work/pure" "$src"
try pure "$first" "$work"/pure/*-py3-none-any.whl

step "no C compiler, but required: an error"
must_fail env CC=/bin/false KODEC_NATIVE=require uv build --wheel -p "$first" -o "$work/none" "$src"

step "switched off: pure Python"
KODEC_NATIVE=off uv build -q --wheel -p "$first" -o "$work/off" "$src"
try pure "$first" "$work"/off/*-py3-none-any.whl

step "from a checkout without symlinks"
copy "$work/plain"
find "$work/plain/src" -type l -delete
try native "$first" "$work/plain"

step "editable"
try native "$first" -e "$src"

step "a kernel that does not compile: an error, not pure Python"
echo 'int broken = ;' >>"$src/generated/kernels/record_batch_core.c"
must_fail uv build --wheel -p "$first" -o "$work/none" "$src"
grep -q 'record_batch_core.c:.*error' "$work/said"

echo "all as it should be; the wheels are in dist/"
ls "$dist"
