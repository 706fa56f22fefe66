"""What pyproject.toml cannot say: which root folder becomes which package."""

from setuptools import find_packages, setup

PACKAGE = "kodec"
FOLDERS = ["cli", "generated", "generator", "log", "pipeline", "runtime", "schemas"]

packages = [PACKAGE]
for folder in FOLDERS:
    packages.append(f"{PACKAGE}.{folder}")
    packages += [f"{PACKAGE}.{folder}.{name}" for name in find_packages(folder)]

setup(
    packages=packages,
    package_dir={
        PACKAGE: f"src/{PACKAGE}",
        **{f"{PACKAGE}.{folder}": folder for folder in FOLDERS},
    },
)
