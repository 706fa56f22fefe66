#!/usr/bin/env python3
"""Reads and writes log directories in real stores on loopback: a server of the S3 API, two emulators.

`store_servers.py` has them, Azure's and Google's. Between kodec and each a proxy counts requests and bytes.
Google's emulator is only read, as it takes no objects by the API that obstore uses.

Usage: store_lab.py [--megabytes N]
Exit code: 0 where all is as it must be, 1 where not, 2 where a server cannot be run.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_lab import CACHE, HERE, Unusable, say, stop_on_signal
from store_servers import (
    ACCOUNT,
    ACCOUNT_KEY,
    KEY,
    SECRET,
    Meter,
    Wrong,
    azurite,
    fetch_azurite,
    fetch_gateway,
    fetch_gcs,
    gcs,
    large_log,
    make_container,
    put_to_gcs,
    require,
    server,
)

import kodec
from kodec.cli.main import main as kodec_main
from kodec.stores import objects
from kodec.stores.storage import StorePath, files_of, path_of
from kodec.stores.upload import upload

ROOT = HERE.parent.parent
DATA = ROOT / "tests" / "data"


class Store:
    """A store that is tried, through the meter.

    Attributes: url, under which all is; meter, the proxy before it.
    """

    def __init__(self, url: str, meter: Meter) -> None:
        self.url = url
        self.meter = meter

    def upload(self, folder: Path, name: str) -> str:
        target = path_of(f"{self.url}/{name}")
        assert isinstance(target, StorePath)
        if target.scheme == "gs":
            for path in folder.rglob("*"):
                if path.is_file():
                    self.put(f"{target}/{path.relative_to(folder)}", path.read_bytes())
        else:
            upload(folder, target)
        return str(target)

    def put(self, url: str, data: bytes) -> None:
        path = path_of(url)
        assert isinstance(path, StorePath)
        if path.scheme == "gs":
            put_to_gcs(self.meter.port, path.key, data)
        else:
            files_of(path).create(path, data)

    def delete(self, url: str) -> None:
        files_of(path_of(url)).remove(path_of(url))

    def counted(self, work: Callable[[], Any]) -> tuple[Any, int, int]:
        """What it returns, the requests, and the bytes."""
        self.meter.reset()
        found = work()
        return found, sum(self.meter.requests.values()), self.meter.bytes


def same_rows(store: Store) -> None:
    """Each corpus has the rows of the files."""
    records = 0
    for logs in sorted(DATA.glob("kafka-*/logs")):
        url = store.upload(logs, f"corpora/{logs.parent.name}")
        here, there = kodec.LogDirectory(logs), kodec.LogDirectory(url)
        require(f"topic-partitions of {logs}", there.topic_partitions, here.topic_partitions)
        for log in here:
            found = list(there.partition(*log.topic_partition).records(control=True))
            require(f"records of {log.path}", found == list(log.records(control=True)), True)
            records += len(found)
    say(f"{store.url}: {records} records of all corpora as on the disk")


def lookups(store: Store, large: Path, url: str) -> None:
    """Cold lookups take at most four requests."""
    local = kodec.PartitionLog(large)
    most, bytes_most = 0, 0
    for offset in random.Random(0).sample(range(local.end_offset), 20):
        here = local.find(offset)
        found, requests, size = store.counted(lambda at=offset: kodec.PartitionLog(url).find(at))
        require(f"offset {offset}", (found[1], requests <= 4), (here[1], True))
        most, bytes_most = max(most, requests), max(bytes_most, size)
    say(f"{store.url}: 20 cold lookups by offset, at most {most} requests and {bytes_most >> 10} KiB each")
    timed = kodec.PartitionLog(url).segments[-1]
    time_of = next(local.segments[-1].records()).timestamp + 100
    found, requests, _ = store.counted(lambda: timed.find_timestamp(time_of))
    require("a time", (found, requests <= 3), (local.segments[-1].find_timestamp(time_of), True))
    say(f"{store.url}: a lookup by time in a listed segment, {requests} requests")


def changes(store: Store, large: Path) -> None:
    """What goes or changes in the middle of a scan is an error; what ends is never taken for the end."""
    for what in ("goes", "changes"):
        url = store.upload(large, f"large-that-{what}/large-0")
        name = sorted(path.name for path in large.glob("*.log"))[-1]
        rows = kodec.PartitionLog(url).records()
        next(rows)
        store.delete(f"{url}/{name}")
        if what == "changes":
            store.put(f"{url}/{name}", (large / name).read_bytes()[:-1] + b"x")
        try:
            list(rows)
        except kodec.errors.ReadFailed as error:
            require("the reason", "since it was listed or opened" in str(error), True)
        else:
            require("an error where the last segment " + what, False, True)
    say(f"{store.url}: an object that goes or changes during a scan is reported")


def writes(store: Store) -> None:
    """Verbs write there, once."""
    logs = DATA / "kafka-4.3.1" / "logs"
    for verb, *words in (
        ["export", "--topic", "orders"],
        ["compact-view", "--topic", "compacted"],
        ["convert", "--topic", "orders", "--compression", "gzip", "--apply"],
        ["salvage", "--topic", "orders", "--apply"],
    ):
        target = f"{store.url}/made/{verb}"
        require(verb, kodec_main([verb, str(logs), "--to", target, *words]), 0)
        require(f"{verb} again", kodec_main([verb, str(logs), "--to", target, *words]), 1)
    for verb in ("convert", "salvage"):
        found = list(kodec.PartitionLog(f"{store.url}/made/{verb}/orders-0").records())
        require(verb, found == list(kodec.PartitionLog(logs / "orders-0").records()), True)
    say(f"{store.url}: export, compact-view, convert and salvage write there, and replace nothing")


def backups(store: Store) -> None:
    """A backup there has the rows of the files, stores nothing twice, and finds what was changed."""
    logs, target = DATA / "kafka-4.3.1" / "logs", f"{store.url}/made/backup"
    for turn in range(2):
        report, requests, size = store.counted(lambda: kodec.operations.plan_backup(logs, target).apply())
        require("what a backup lacks", list(report.omissions), [])
        require("new objects", report.new > 0, not turn)
        say(
            f"{store.url}: backup {turn + 1}: {report.new} new objects, {requests} requests, {size >> 10} KiB"
        )
    here, there = kodec.LogDirectory(logs), kodec.LogDirectory(f"{target}/points/{report.point.name}")
    for log in here:
        found = list(there.partition(*log.topic_partition).records(control=True))
        require(f"records of {log.path} in a point", found == list(log.records(control=True)), True)
    require("prune", kodec_main(["backup", "--to", target, "--prune", "--keep", "1", "--apply"]), 0)
    require("check", kodec_main(["backup", "--to", target, "--check"]), 0)
    victim = next(iter(kodec.operations.list_points(target)[0].objects()))
    store.delete(f"{target}/objects/{victim}")
    require("check of a missing object", kodec_main(["backup", "--to", target, "--check"]), 1)
    require("backup that stores it again", kodec_main(["backup", str(logs), "--to", target]), 0)
    require("check", kodec_main(["backup", "--to", target, "--check"]), 0)


def many_names(store: Store, work: Path) -> None:
    """A folder of more names than a page has."""
    folder = work / "many" / "many-0"
    folder.mkdir(parents=True)
    for number in range(1_200):
        (folder / f"{number:020}.snapshot").touch()
    (folder / f"{0:020}.log").touch()
    url = store.upload(folder, "many/many-0")
    found, requests, _ = store.counted(lambda: kodec.PartitionLog(url).files)
    require("names", (len(found.snapshots), len(found.segments), requests), (1_200, 1, requests))
    say(f"{store.url}: 1,201 names in {requests} requests")


def trial(store: Store, work: Path, large: Path) -> None:
    same_rows(store)
    url = store.upload(large, "large/large-0")
    lookups(store, large, url)
    changes(store, large)
    if not store.url.startswith("gs:"):
        writes(store)
        backups(store)
    many_names(store, work / store.url.partition(":")[0])


def main() -> int:
    signal.signal(signal.SIGTERM, stop_on_signal)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="of the large log")
    given = parser.parse_args()
    tools, work = CACHE / "store", CACHE / "work" / "store"
    for folder in (tools, CACHE / "s3"):
        folder.mkdir(parents=True, exist_ok=True)
    gateway, emulator = fetch_gateway(CACHE / "s3"), fetch_azurite(tools)
    google = fetch_gcs(CACHE / "gcs")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    begun = time.monotonic()
    try:
        large = large_log(work, given.megabytes)
        with server(gateway, work / "buckets") as port:
            (work / "buckets" / "logs").mkdir()
            meter = Meter(port)
            os.environ |= {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{meter.port}",
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_REGION": "us-east-1",
            }
            trial(Store("s3://logs", meter), work, large)
            os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
            objects.object_storage.cache_clear()
            require("ls with a wrong key", kodec_main(["ls", "s3://logs/corpora"]), 1)
        with azurite(emulator, work / "azurite") as port:
            make_container(port, "logs")
            meter = Meter(port)
            os.environ |= {
                "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{meter.port}/{ACCOUNT}",
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
            }
            trial(Store("az://logs", meter), work, large)
            os.environ["AZURE_STORAGE_ACCOUNT_KEY"] = base64.b64encode(b"wrong").decode()
            objects.object_storage.cache_clear()
            require("ls with a wrong key", kodec_main(["ls", "az://logs/corpora"]), 1)
        with gcs(google, work / "gcs.out") as meter:
            account = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
            os.environ |= {
                "GOOGLE_BASE_URL": f"http://127.0.0.1:{meter.port}",
                "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
            }
            trial(Store("gs://logs", meter), work, large)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"all in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as problem:
        print(f"wrong: {problem}", file=sys.stderr)
        sys.exit(1)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
