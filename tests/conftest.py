"""How tests run: in random order; hypothesis with the same examples each time in CI, fresh ones elsewhere."""

import os

import pytest
from hypothesis import settings

# pytest-randomly seeds `random` before each test; hypothesis draws from a generator of its own.
settings.register_profile("kodec", deadline=None)
settings.register_profile("kodec-ci", deadline=None, derandomize=True)
settings.load_profile("kodec-ci" if os.environ.get("CI") else "kodec")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to have the same order again, at the end too: `--quiet` hides the plugin's header."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"order of tests: --randomly-seed={config.option.randomly_seed}")
