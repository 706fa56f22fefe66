"""Where the files of the tests are: real brokers' logs, samples with expected rows, and this repository."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
DATA = TESTS / "data"
LOGS = DATA / "kafka-4.3.1" / "logs"
SAMPLES = DATA / "samples"
