"""Drafts of recipes for Homebrew and conda-forge, from pyproject.toml, the lock and an sdist. Needs uv.

Usage: recipes.py [--repository URL] [--sdist dist/kodec-VERSION.tar.gz] [--to dist/recipes]

URL is where the project is, as [project.urls] of pyproject.toml names it: a workflow passes its own.
Versions are those of requirements/image.txt. Homebrew builds libraries from sdists: uv finds their addresses
and hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The names of libraries in conda-forge, if they differ.
CONDA = {"pyarrow": "pyarrow-core"}


def locked() -> dict[str, str]:
    """The version of each library, by its name."""
    text = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def resources() -> str:
    """The sdist of each library but pyarrow, which Homebrew has, as it lists them."""
    asked = "\n".join(f"{name}=={version}" for name, version in locked().items() if name != "pyarrow")
    command = ["uv", "pip", "compile", "-q", "--no-deps", "--no-header", "--format", "pylock.toml", "-"]
    found = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    return "\n".join(
        f'''  resource "{each["name"]}" do
    url "{each["sdist"]["url"]}"
    sha256 "{each["sdist"]["hashes"]["sha256"]}"
  end
'''
        for each in tomllib.loads(found)["packages"]
    )


def formula(repository: str, url: str, sha256: str) -> str:
    return f'''class Kodec < Formula
  include Language::Python::Virtualenv

  desc "Reads, checks and writes the bytes that Apache Kafka stores"
  homepage "{repository}"
  url "{url}"
  sha256 "{sha256}"
  license "{PROJECT["license"]}"

  depends_on "apache-arrow"
  depends_on "pyarrow"
  depends_on "rust" => :build
  depends_on "python@3.14"

{resources()}
  def install
    ENV["KODEC_NATIVE"] = "require"
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/kodec --version")
    backend = shell_output("#{{libexec}}/bin/python -c 'import kodec; print(kodec.backend())'")
    assert_equal "native", backend.strip
  end
end
'''


def conda(url: str, sha256: str) -> str:
    needs = [*PROJECT["dependencies"]]
    needs += [each for extra in ("arrow", "cli") for each in PROJECT["optional-dependencies"][extra]]
    lines = []
    for each in sorted(set(needs)):
        name = re.split(r"[<>=\[ ]", each)[0]
        lines.append(f"    - {CONDA.get(name, name)} {each[len(name) :].strip()}".rstrip())
    return f'''# For conda-forge/staged-recipes: recipes/kodec/recipe.yaml
schema_version: 1

context:
  version: "{PROJECT["version"]}"

package:
  name: kodec
  version: ${{{{ version }}}}

source:
  url: {url}
  sha256: {sha256}

build:
  number: 0
  script:
    env:
      KODEC_NATIVE: require
    content: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
      - kodec = kodec.cli.main:main

requirements:
  build:
    - ${{{{ compiler("c") }}}}
    - ${{{{ stdlib("c") }}}}
  host:
    - cython >=3.1
    - pip
    - python
    - setuptools >=77
  run:
    - python {PROJECT["requires-python"]}
{chr(10).join(lines)}

tests:
  - python:
      imports: [kodec, kodec.cli.main, kodec.operations]
  - script:
      - kodec --version
      - python -c "import kodec; assert kodec.backend() == 'native'"

about:
  summary: {PROJECT["description"]}
  license: {PROJECT["license"]}
  license_file: [LICENSE, NOTICE]
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    version = PROJECT["version"]
    parser.add_argument("--sdist", type=Path, default=ROOT / "dist" / f"kodec-{version}.tar.gz")
    parser.add_argument("--to", type=Path, default=ROOT / "dist" / "recipes")
    parser.add_argument("--repository", default=PROJECT.get("urls", {}).get("Repository"))
    given = parser.parse_args()
    if not given.repository:
        parser.error(
            "where is the project? Give --repository, or Repository under [project.urls] in pyproject.toml"
        )
    repository = given.repository.rstrip("/")
    url = f"{repository}/releases/download/v{version}/kodec-{version}.tar.gz"
    sha256 = hashlib.sha256(given.sdist.read_bytes()).hexdigest()
    given.to.mkdir(parents=True, exist_ok=True)
    (given.to / "kodec.rb").write_text(formula(repository, url, sha256), encoding="utf-8")
    (given.to / "recipe.yaml").write_text(conda(url, sha256), encoding="utf-8")


if __name__ == "__main__":
    main()
