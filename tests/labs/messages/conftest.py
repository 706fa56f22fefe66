"""Lets the tests here import the modules next to them, and the one that runs JVMs."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "differential")]
