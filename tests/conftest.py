"""How hypothesis runs: the same examples each time in CI, fresh ones elsewhere."""

import os

from hypothesis import settings

settings.register_profile("kodec", deadline=None)
settings.register_profile("kodec-ci", deadline=None, derandomize=True)
settings.load_profile("kodec-ci" if os.environ.get("CI") else "kodec")
