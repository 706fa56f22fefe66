#!/bin/sh
# Publishes a version: checks that the clone is what will be published, tags it, and pushes the tag. The forge does the rest.
#
# Usage: publish.sh VERSION [REMOTE]
set -eu
cd "$(dirname "$0")/.."
version=$1
remote=${2:-origin}
refuse() {
    echo "not published: $1" >&2
    exit 1
}
grep -q "^version = \"$version\"\$" pyproject.toml || refuse "pyproject.toml has another version than $version"
grep -q "^## $version ([0-9-]*)\$" CHANGELOG.md || refuse "CHANGELOG.md has no section '## $version (YYYY-MM-DD)'"
grep -q '^Repository = "https://.*"$' pyproject.toml ||
    refuse "Repository is missing under [project.urls] in pyproject.toml"
test -z "$(git status --porcelain)" || refuse "there are changes that are not committed"
git fetch -q "$remote"
test "$(git rev-parse HEAD)" = "$(git rev-parse "$remote/main")" || refuse "HEAD is not main of $remote"
git tag -a "v$version" -m "kodec $version"
git push -q "$remote" "v$version"
echo "v$version is pushed; .github/workflows/release.yml publishes it"
