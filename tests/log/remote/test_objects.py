"""Segments that Aiven's plugin stored: what its own classes wrote, and every kind of damage to it."""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodec.generated.tier.chunk_sizes import ChunkSizes, NoOthers, Others
from kodec.log.remote.keys import TierKeys
from kodec.log.remote.manifest import Manifest, Piece, parse_manifest
from kodec.log.remote.objects import TierLog, read_index
from kodec.runtime.compression import compress
from kodec.runtime.errors import (
    ArgumentError,
    FormatError,
    Malformed,
    MissingDependency,
    Truncated,
    Unsupported,
)
from tests.data import DATA
from tests.stored_tiers import STORED

ORIGINAL = next((DATA / "tiered-4.3.1/tier").iterdir())
KEY = TierKeys(STORED / "key1.pem")
MANIFESTS = sorted(STORED.rglob("*.rsm-manifest"))
ENCRYPTED = [each for each in MANIFESTS if "aes" in each.relative_to(STORED).parts[0]]


def _shown(path: Path) -> str:
    """The same in each process of a run: where the samples are unpacked is not."""
    return path.relative_to(STORED).as_posix()


def _opened(path: Path, data: bytes | None = None, keys: TierKeys = KEY) -> TierLog:
    data = path.with_suffix(".log").read_bytes() if data is None else data
    return TierLog(io.BytesIO(data), len(data), parse_manifest(path.read_bytes()), keys, "it.log")


def _original(path: Path, kind: str = "log") -> bytes:
    return (ORIGINAL / f"{path.stem}.{kind}").read_bytes()


def test_there_are_samples_of_all_transformations() -> None:
    kinds = {(each.compressed, each.encryption is not None) for each in map(_manifest, MANIFESTS)}
    assert kinds == {(one, other) for one in (False, True) for other in (False, True)}
    assert len(MANIFESTS) == 16


def _manifest(path: Path) -> Manifest:
    return parse_manifest(path.read_bytes())


@pytest.mark.quick
@pytest.mark.parametrize("path", MANIFESTS, ids=_shown)
def test_the_log_and_its_indexes_are_those_that_the_plugin_stored(path: Path) -> None:
    assert _opened(path).read() == _original(path)
    manifest = _manifest(path)
    indexes = io.BytesIO(path.with_suffix(".indexes").read_bytes())
    found = {kind: read_index(indexes, kind, manifest, KEY) for kind in manifest.indexes}
    assert found == {kind: _original(path, kind) for kind in manifest.indexes}
    assert ("txnindex" in found) == (ORIGINAL / f"{path.stem}.txnindex").exists()
    assert manifest.segment is not None
    assert (manifest.segment.topic, manifest.segment.partition) == ("tiered", 0)
    assert f"{manifest.segment.start_offset:020}-{manifest.segment.segment_id}" == path.stem


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MANIFESTS), st.integers(0, 2100), st.integers(0, 2100))
def test_a_range_is_a_slice_of_the_whole(path: Path, start: int, size: int) -> None:
    log = _opened(path)
    log.seek(start)
    assert log.read(size) == _original(path)[start : start + size]


def test_only_the_chunks_that_are_read_are_fetched() -> None:
    path = next(each for each in MANIFESTS if "zstd-aes" in str(each) and _manifest(each).count > 1)
    data = bytearray(path.with_suffix(".log").read_bytes())
    second = _manifest(path).chunk(1).stored
    data[second.position : second.position + second.size] = bytes(second.size)
    log = _opened(path, bytes(data))
    assert log.read(1000) == _original(path)[:1000]
    with pytest.raises(Malformed, match=r"chunks\[1\]"):
        log.read(1)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 10, 99, 100, 101])
@pytest.mark.parametrize("compressed", [False, True])
def test_every_chunk_size(chunk_size: int, compressed: bool) -> None:
    whole = bytes(range(100))
    chunks = [whole[at : at + chunk_size] for at in range(0, 100, chunk_size)]
    stored = [compress("zstd", each) if compressed else each for each in chunks]
    index: dict[str, Any] = {"originalChunkSize": chunk_size, "originalFileSize": 100}
    if compressed:
        index |= {"type": "variable", "transformedChunks": _written([len(each) for each in stored])}
    else:
        final = len(chunks[-1])
        index |= {"type": "fixed", "transformedChunkSize": chunk_size, "finalTransformedChunkSize": final}
    path = MANIFESTS[0]
    says = json.loads(path.read_bytes()) | {"chunkIndex": index, "compression": compressed}
    says.pop("encryption", None)
    data = b"".join(stored)
    log = TierLog(io.BytesIO(data), len(data), parse_manifest(json.dumps(says).encode()))
    for start in range(101):
        for end in range(start, 101, 7):
            log.seek(start)
            assert log.read(end - start) == whole[start:end]


def _written(sizes: list[int]) -> str:
    """As the format's description has it, by hand."""
    if len(sizes) == 1:
        data = b"\x00\x00\x00\x01" + sizes[0].to_bytes(4, "big")
    else:
        base = min(sizes[:-1])
        data = len(sizes).to_bytes(4, "big") + base.to_bytes(4, "big") + b"\x02"
        data += b"".join((each - base).to_bytes(2, "big") for each in sizes[:-1])
        data += sizes[-1].to_bytes(4, "big")
    return base64.b64encode(compress("zstd", data)).decode()


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=30), st.integers(0, 2**31 - 1))
def test_sizes_of_chunks_are_written_and_read(differences: list[int], last: int) -> None:
    base = min(differences)
    own = [(each - base).to_bytes(2, "big") for each in differences]
    sizes = ChunkSizes(len(own) + 1, base, Others(2, own, last))
    data = sizes.to_bytes()
    assert data == (
        (len(own) + 1).to_bytes(4, "big")
        + base.to_bytes(4, "big")
        + b"\x02"
        + b"".join(own)
        + last.to_bytes(4, "big")
    )
    assert ChunkSizes.from_bytes(data) == sizes
    assert ChunkSizes.from_bytes(ChunkSizes(1, last, NoOthers()).to_bytes()).base == last


@pytest.mark.parametrize(
    "path", [each for each in MANIFESTS if each.name.startswith("00000000000000000000-")], ids=_shown
)
def test_an_object_cut_anywhere_is_an_error(path: Path) -> None:
    data = path.with_suffix(".log").read_bytes()
    for size in range(len(data)):
        with pytest.raises(Truncated, match=r"it\.log"):
            _opened(path, data[:size])
    with pytest.raises(Malformed, match="after the last chunk"):
        _opened(path, data + b"\0")
    manifest, indexes = _manifest(path), path.with_suffix(".indexes").read_bytes()
    for size in range(len(indexes)):
        stored = io.BytesIO(indexes[:size])
        with pytest.raises(Truncated):
            for kind in manifest.indexes:
                read_index(stored, kind, manifest, KEY)


@pytest.mark.parametrize(
    "path", [each for each in ENCRYPTED if each.name.startswith("00000000000000000000-")], ids=_shown
)
def test_any_changed_byte_of_an_encrypted_object_is_an_error(path: Path) -> None:
    data = path.with_suffix(".log").read_bytes()
    for at in range(0, len(data), 3):
        changed = bytearray(data)
        changed[at] ^= 0x40
        with pytest.raises(Malformed, match="changed after it was encrypted"):
            _opened(path, bytes(changed)).read()
    manifest, indexes = _manifest(path), path.with_suffix(".indexes").read_bytes()
    for at in range(0, len(indexes), 3):
        changed = bytearray(indexes)
        changed[at] ^= 1
        kind = next(kind for kind, (start, size) in manifest.indexes.items() if start <= at < start + size)
        with pytest.raises(Malformed, match=f"^{kind}: it was changed"):
            read_index(io.BytesIO(bytes(changed)), kind, manifest, KEY)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_manifest_is_an_error_or_reads_the_same_sizes(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(MANIFESTS)).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        manifest = parse_manifest(bytes(text))
    except FormatError:
        return
    assert all(manifest.chunk(number).log.size > 0 for number in range(min(manifest.count, 100)))


def test_a_manifest_cut_anywhere_is_an_error() -> None:
    text = MANIFESTS[-1].read_bytes()
    for size in range(len(text)):
        with pytest.raises(Malformed, match=r"at byte 0 of m"):
            parse_manifest(text[:size], "m")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"startOffset":', b'"startOffset":1e999,"x":'),
        (b'"version":', b'"x":NaN,"version":'),
        (b'"version":', b'"x":[' + b"[]," * 200_000 + b'[]],"version":'),
        (b'"version":', b'"x":' + b"[" * 200 + b"]" * 200 + b',"version":'),
        (b'"version":', b'"x":' + b"1" * 5_000 + b',"version":'),
    ],
    ids=lambda each: str(each)[:20],
)
def test_a_hostile_manifest_is_malformed(old: bytes, new: bytes) -> None:
    """`1e999` was a traceback, which ended every command for all other segments too."""
    data = json.dumps(json.loads(MANIFESTS[0].read_bytes()), separators=(",", ":")).encode()
    assert old in data
    with pytest.raises(Malformed, match=r"in? m\b|of m\b"):
        parse_manifest(data.replace(old, new, 1), "m")


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"version": "2"}, Unsupported, "version: kodec does not know this manifest: need 1, have 2"),
        ({"version": None}, Malformed, "version"),
        ({"compression": "yes"}, Malformed, "compression"),
        ({"segmentIndexes": {}}, Malformed, r"segmentIndexes\.offset: missing"),
        ({"encryption": {"dataKey": "key1", "aad": ""}}, Malformed, r"encryption\.dataKey"),
        ({"encryption": {"dataKey": "a:b:c", "aad": ""}}, Malformed, r"encryption\.dataKey"),
        ({"chunkIndex.type": "other"}, Unsupported, r"chunkIndex\.type"),
        ({"chunkIndex.originalChunkSize": 0}, Malformed, "originalChunkSize: need 1 to 2147483647, have 0"),
        ({"chunkIndex.originalFileSize": 2**31}, Malformed, "originalFileSize"),
        ({"chunkIndex.originalFileSize": True}, Malformed, "originalFileSize: need .*, have bool"),
        (
            {"chunkIndex.transformedChunkSize": 999},
            Malformed,
            "size of a stored chunk: need 1000 bytes, have 999",
        ),
        ({"remoteLogSegmentMetadata": {}}, Malformed, "remoteLogSegmentMetadata"),
        *(
            ({f"remoteLogSegmentMetadata.{name}": value}, Malformed, "remoteLogSegmentMetadata: not that of")
            for name, value in {
                "startOffset": 1.5,
                "endOffset": "7",
                "maxTimestampMs": 1 << 70,
                "segmentLeaderEpochs": {"-1": 0},
                "remoteLogSegmentId": {"id": [], "topicIdPartition": {}},
            }.items()
        ),
    ],
)
def test_what_a_manifest_must_say(changes: dict[str, Any], error: type[FormatError], text: str) -> None:
    path = next(each for each in MANIFESTS if "plain" in each.parts and _manifest(each).count > 1)
    says = json.loads(path.read_bytes())
    for name, value in changes.items():
        *outer, last = name.split(".")
        (says[outer[0]] if outer else says)[last] = value
    with pytest.raises(error, match=text):
        parse_manifest(json.dumps(says).encode())


def test_the_number_of_compressed_chunks_must_fit() -> None:
    path = next(each for each in MANIFESTS if _manifest(each).compressed)
    says = json.loads(path.read_bytes())
    says["chunkIndex"]["transformedChunks"] = _written([10] * 50)
    with pytest.raises(Malformed, match="number of chunks"):
        parse_manifest(json.dumps(says).encode())


# -- keys -----------------------------------------------------------------------------------------


def test_a_key_from_a_folder_and_from_a_command(tmp_path: Path) -> None:
    text = (STORED / "key1.pem").read_bytes()
    (tmp_path / "key1.pem").write_bytes(text)
    assert _opened(ENCRYPTED[0], keys=TierKeys(tmp_path)).read() == _original(ENCRYPTED[0])
    program = tmp_path / "print it.py"
    program.write_text(
        "import os, pathlib, sys\n"
        "assert os.environ['KODEC_TIER_KEY_ID'] == 'key1'\n"
        "sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())\n"
    )
    command = f"{sys.executable} '{program}' '{STORED / 'key1.pem'}'"
    assert _opened(ENCRYPTED[0], keys=TierKeys(command=command)).read() == _original(ENCRYPTED[0])


def test_without_a_key_the_error_tells_which_is_wanted() -> None:
    with pytest.raises(
        Unsupported, match=r"give the private key: --tier-key FILE.*need the private key 'key1'"
    ):
        _opened(ENCRYPTED[0], keys=TierKeys())


def test_another_key_is_an_error(tmp_path: Path) -> None:
    rsa = pytest.importorskip("Cryptodome.PublicKey.RSA")
    other = rsa.generate(2048)
    (tmp_path / "other.pem").write_bytes(other.export_key(pkcs=8))
    with pytest.raises(Malformed, match="the private key does not open it"):
        _opened(ENCRYPTED[0], keys=TierKeys(tmp_path / "other.pem"))
    (tmp_path / "public.pem").write_bytes(other.public_key().export_key())
    with pytest.raises(ArgumentError, match="a public key, and the private one is needed"):
        _opened(ENCRYPTED[0], keys=TierKeys(tmp_path / "public.pem"))


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("false", "ended with code 1"),
        ("", "is empty"),
        ("'open", "open quote"),
        ("/nothing/here", "cannot be run"),
        ("echo SECRET", "what the command .* prints: not an RSA key in PEM"),
    ],
)
def test_a_command_that_fails(command: str, text: str) -> None:
    with pytest.raises(ArgumentError, match=text) as caught:
        _opened(ENCRYPTED[0], keys=TierKeys(command=command))
    assert "SECRET" not in str(caught.value)


def test_files_that_are_no_keys(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"'key1'.*key1\.pem: No such file"):
        _opened(ENCRYPTED[0], keys=TierKeys(tmp_path))
    (tmp_path / "key1.pem").write_bytes(b"no key")
    with pytest.raises(ArgumentError, match="not an RSA key in PEM"):
        _opened(ENCRYPTED[0], keys=TierKeys(tmp_path))


def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    says = json.loads(ENCRYPTED[0].read_bytes())
    says["encryption"]["dataKey"] = "../key1:" + says["encryption"]["dataKey"].partition(":")[2]
    data = ENCRYPTED[0].with_suffix(".log").read_bytes()
    with pytest.raises(ArgumentError, match="no file can have this name"):
        TierLog(io.BytesIO(data), len(data), parse_manifest(json.dumps(says).encode()), TierKeys(tmp_path))


def test_without_the_library_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key1.pem").write_bytes((STORED / "key1.pem").read_bytes())
    for name in ("Cryptodome.Cipher.PKCS1_OAEP", "Cryptodome.Cipher.AES", "Cryptodome.Hash.SHA3_512"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependency, match=r"pip install .*pycryptodomex"):
        _opened(ENCRYPTED[0], keys=TierKeys(tmp_path))


def test_a_piece_of_an_index_outside_of_its_object() -> None:
    manifest = _manifest(MANIFESTS[0])
    beyond = Piece(10**9, 40)
    stored = io.BytesIO(MANIFESTS[0].with_suffix(".indexes").read_bytes())
    changed = json.loads(MANIFESTS[0].read_bytes())
    changed["segmentIndexes"]["offset"] = beyond._asdict()
    with pytest.raises(Truncated):
        read_index(stored, "index", parse_manifest(json.dumps(changed).encode()), KEY)
    assert manifest.indexes["index"] != beyond
