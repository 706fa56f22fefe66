"""How tests run: in random order, in one process or several; properties draw fresh examples each time."""

import errno
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from kodec.runtime.system import POSIX

pytest.register_assert_rewrite("tests.golden")
from tests.fixtures import golden, logs, own_codecs, served, server  # noqa: E402

__all__ = ["golden", "logs", "own_codecs", "served", "server"]

# As wide as they need, as in a pipe: xdist reports about its processes how wide the terminal is.
os.environ.pop("COLUMNS", None)

# pytest-randomly seeds `random` before each test; hypothesis draws from a generator of its own. What fails is
# printed so that it can be run again as it was.
settings.register_profile("kodec", deadline=None, print_blob=True)
settings.load_profile("kodec")

ROOT = Path(__file__).resolve().parent
# Folders whose tests share what takes long to start.
TOGETHER = ("java", "pipeline")
# Files that take more than a minute.
LONG = {
    "generator/test_hostile.py",
    "log/reading/test_bad_input.py",
    "log/writing/test_failed_writer.py",
    "log/writing/test_histories.py",
    "test_docs.py",
}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say how to have the same order again, before anything can crash; `--quiet` hides that."""
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if config.pluginmanager.hasplugin("randomly"):
        seed = getattr(config.option, "randomly_seed", None)
        config.get_terminal_writer().line(f"order of tests: --randomly-seed={seed}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first: its processes would be the last ones to end, and others idle."""
    paths = {item.path: item.path.relative_to(ROOT) for item in items}
    rank = {
        path: 0 if inner.parts[0] in TOGETHER else 1 if inner.as_posix() in LONG else 2
        for path, inner in paths.items()
    }
    items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Where log directories are not changed (Windows), skip a test that makes its logs with our writers."""
    try:
        return (yield)
    except OSError as error:
        if POSIX or error.errno != errno.ENOTSUP:
            raise
        pytest.skip(str(error.strerror))


pytest_runtest_setup = pytest_runtest_call


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """The tests of a file, or of one of those folders, run in one process.

    Marks of `xdist_group` would say it, but do nothing with pytest 9.2 (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            folder = path.removeprefix("tests/").partition("/")[0]
            return folder if folder in TOGETHER else path

    return Together(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden`: the texts of tests become what they are now."""
    parser.addoption("--golden", action="store_true", help="write the texts in tests/golden anew")
