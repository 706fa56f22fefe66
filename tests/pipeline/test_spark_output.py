"""What Spark prints under a job: nothing that is not for the user, and all errors."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kodec.pipeline import spark
from tests.data import LOGS


def _stopped(folder: Path, *, tcp: bool) -> str:
    """What PySpark's daemon prints if Spark closes the socket of an idle worker, as at the end of a job."""
    settings = {
        "SPARK_REUSE_WORKER": "1",
        "PYTHON_WORKER_FACTORY_SECRET": "x",
        "PYTHON_UNIX_DOMAIN_ENABLED": str(not tcp).lower(),
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(folder),
    }
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "pyspark.daemon", "pyspark.worker"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ | settings) as daemon:
        assert daemon.stdin is not None and daemon.stdout is not None and daemon.stderr is not None
        (number,) = struct.unpack(">i", daemon.stdout.read(4))
        place = ("127.0.0.1", number) if tcp else daemon.stdout.read(number)
        with socket.socket(socket.AF_INET if tcp else socket.AF_UNIX) as worker:
            worker.connect(place)
            (pid,) = struct.unpack(">i", worker.recv(4))
            if tcp:
                worker.sendall(struct.pack(">i", 1) + b"x")
                assert worker.recv(6)[4:] == b"ok"
        end = time.monotonic() + 60
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.01)
        daemon.stdin.close()
        return daemon.stderr.read().decode()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="sees the end of a worker in /proc")
def test_the_end_of_an_idle_worker_prints_nothing_over_tcp(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("d")  # a socket's path has at most 107 bytes
    # as over the sockets that `session` chooses
    assert "BrokenPipeError" in _stopped(folder, tcp=False)
    assert _stopped(folder, tcp=True) == ""


def test_lines_of_the_jvm_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    noise = "WARNING: Using incubator modules: jdk.incubator.vector"
    script = f"echo '{noise}' >&2; echo 'an error' >&2; printf 'no {noise}' >&2"
    with spark._without_lines(spark._OF_THE_JVM):
        process = subprocess.Popen(["sh", "-c", script])
    assert process.wait() == 0
    expected = f"an error\nno {noise}"
    found = ""
    while len(found) < len(expected):  # another thread passes it on
        found += capfd.readouterr().err
    assert found == expected
    os.write(2, noise.encode())
    assert capfd.readouterr().err == noise


def test_a_job_starts_where_stderr_is_closed() -> None:
    code = (
        "import os, subprocess; from kodec.pipeline.spark import _without_lines\n"
        "os.close(2)\n"
        "with _without_lines(b'x'): subprocess.run(['true'], check=True)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_log_level_of_the_user_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(spark, "session", lambda *_, config, **__: asked.append(config))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    spark.quiet_session("local[1]", app_name="test")
    # not `spark.log.level` and not spark.driver.extraJavaOptions, which win over spark-defaults.conf
    tcp = {"spark.python.unix.domain.socket.enabled": "false"}
    assert list(asked[0]) == ["spark.driver.defaultJavaOptions", "spark.ui.showConsoleProgress", *tcp]
    (tmp_path / "log4j2.properties").write_text("rootLogger.level = info\n")
    spark.quiet_session("local[1]", app_name="test", config={"spark.log.level": "INFO"})
    assert asked[1] == tcp | {"spark.ui.showConsoleProgress": "false", "spark.log.level": "INFO"}


def test_the_command_prints_only_its_own_lines(tmp_path: Path) -> None:
    logs = LOGS
    command: list[str | Path] = [
        Path(sys.executable).with_name("kodec"),
        "export",
        logs,
        "--topic",
        "orders",
        "--engine",
        "spark",
    ]
    done = subprocess.run([*command, "--to", tmp_path / "out"], capture_output=True, text=True, check=True)
    lines = [each for each in done.stderr.splitlines() if "tasks done" not in each]
    assert [each.partition(" on ")[0] for each in lines] == [
        "3 topic-partitions, 6 segments, 1 task, 88.4 KiB",
        "starting Spark",
    ]
