"""How tests run: in random order, the seed at the end; hypothesis with fresh examples, in CI the same each time."""

import os

import pytest
from hypothesis import settings

# pytest-randomly shuffles the tests and seeds `random` before each; hypothesis draws from a generator of its own.
settings.register_profile("kodec", deadline=None)
settings.register_profile("kodec-ci", deadline=None, derandomize=True)
settings.load_profile("kodec-ci" if os.environ.get("CI") else "kodec")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to have the same order again; the plugin says it in the header, which `--quiet` hides."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"order of tests: -p randomly --randomly-seed={config.option.randomly_seed}")
