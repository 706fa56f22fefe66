#!/bin/sh
# Locks the dependency groups of pyproject.toml into requirements/, for every supported Python and platform. Needs uv.
set -eu
cd "$(dirname "$0")/.."

lock() {
    name=$1
    shift
    echo "requirements/$name.txt"
    uv pip compile "$@" --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --no-annotate --output-file "requirements/$name.txt"
}

lock dev pyproject.toml --all-extras --group dev
lock build --group pyproject.toml:build --constraints requirements/dev.txt
lock interop --group pyproject.toml:interop --constraints requirements/dev.txt
lock docs --group pyproject.toml:docs --constraints requirements/dev.txt
lock java --group pyproject.toml:java
lock node --group pyproject.toml:node
lock zig --group pyproject.toml:zig
lock uv --group pyproject.toml:uv
lock release --group pyproject.toml:release --constraints requirements/dev.txt
# What tests a wheel, in an environment of its own.
lock wheel pyproject.toml --extra arrow --extra cli --group pyproject.toml:wheel --constraints requirements/dev.txt
# What the image and the recipes install: kodec's own libraries, without those that only develop it.
lock image pyproject.toml --extra arrow --extra cli --constraints requirements/dev.txt
