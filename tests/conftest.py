"""How tests run: in random order; hypothesis with the same examples each time in CI, fresh ones elsewhere."""

import os

import pytest
from hypothesis import settings

# pytest-randomly seeds `random` before each test; hypothesis draws from a generator of its own.
settings.register_profile("kodec", deadline=None)
settings.register_profile("kodec-ci", deadline=None, derandomize=True)
settings.load_profile("kodec-ci" if os.environ.get("CI") else "kodec")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say how to have the same order again, before anything can crash; `--quiet` hides that."""
    seed = getattr(session.config.option, "randomly_seed", None)
    if session.config.pluginmanager.hasplugin("randomly") and not session.config.option.collectonly:
        session.config.get_terminal_writer().line(f"order of tests: --randomly-seed={seed}")
