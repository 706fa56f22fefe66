#!/bin/sh
# Writes dist/kodec.cdx.json: what an installation of kodec with all extras consists of, in CycloneDX. Needs uv.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist
uv venv -q "$work/env"
KODEC_NATIVE=off uv pip install -q -p "$work/env" -c requirements/dev.txt '.[all]'
uv venv -q "$work/tools"
uv pip install -q -p "$work/tools" --require-hashes -r requirements/release.txt
"$work/tools/bin/cyclonedx-py" environment --pyproject pyproject.toml --mc-type library --output-reproducible \
    --of JSON -o dist/kodec.cdx.json "$work/env"
# the address that it was installed from is a folder of this machine
python3 - dist/kodec.cdx.json <<'END'
import json, sys
path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    bom = json.load(file)
for each in [bom["metadata"]["component"], *bom["components"]]:
    each["externalReferences"] = [
        one for one in each.get("externalReferences", []) if not one["url"].startswith("file:")
    ]
bom["components"] = [each for each in bom["components"] if each["name"] != "kodec"]
with open(path, "w", encoding="utf-8") as file:
    json.dump(bom, file, indent=1)
print(f"{path}: {len(bom['components'])} components")
END
