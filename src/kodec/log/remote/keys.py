"""Private keys that open what Aiven's plugin has encrypted: from a file, a folder, or a command.

Followed: `io.aiven.kafka.tieredstorage.security.RsaEncryptionProvider` (RSA with OAEP, SHA3-512 for both
hashes, no label) and `AesEncryptionProvider` (AES-256 in GCM: 12 bytes of initialization vector, the content,
16 bytes of tag).
No key, and nothing that a command printed, is logged or in an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from kodec.log.remote.manifest import CIPHER_BYTES, Encryption
from kodec.runtime.errors import ArgumentError, Malformed, MissingDependency, Unsupported
from kodec.runtime.extras import install_command

__all__ = ["KEY_ID", "TIER_KEY", "TIER_KEY_COMMAND", "TierKeys", "decrypted"]

TIER_KEY, TIER_KEY_COMMAND = "KODEC_TIER_KEY", "KODEC_TIER_KEY_COMMAND"
"""Variables of the environment: where the private key for encrypted remote storage is."""

KEY_ID = "KODEC_TIER_KEY_ID"
"""The variable in which the command finds the id of the key that is wanted."""
_MOST_OF_A_KEY = 1 << 20
_SECONDS = 60
_DATA_KEY = 32
_IV, _TAG = 12, 16


class TierKeys(NamedTuple):
    """Where private keys are.

    Args:
        file: an RSA private key in PEM, or a folder with one `<id>.pem` for each id.
        command: prints such a key; split into words as a shell does, run without one. The id of the wanted
            key is in its environment, `KODEC_TIER_KEY_ID`.

    Example:
        >>> import kodec
        >>> context = kodec.Context(kodec.TierKeys(command="pass show tier"))
        >>> logs = kodec.open_location("/data/tiered/tier", context)
    """

    file: Path | None = None
    command: str | None = None

    @classmethod
    def of_environment(cls) -> TierKeys:
        """Those that `KODEC_TIER_KEY` and `KODEC_TIER_KEY_COMMAND` name. Raises ArgumentError for both."""
        file, command = os.environ.get(TIER_KEY), os.environ.get(TIER_KEY_COMMAND)
        if file and command:
            raise ArgumentError(f"{TIER_KEY} and {TIER_KEY_COMMAND}: set one of them")
        return cls(Path(file) if file else None, command or None)

    def data_key(self, encryption: Encryption) -> bytes:
        """The key of a segment's chunks, decrypted.

        Args:
            encryption: what the segment's manifest says.

        Raises: Unsupported without a key; ArgumentError for a key that cannot be had, or is none; Malformed
        where the private key does not open it; MissingDependency.
        """
        known = self, encryption.key_id, encryption.data_key
        if (key_of_data := _opened.get(known)) is None:
            if len(_opened) >= _MOST_OPENED:
                _opened.clear()
            key_of_data = _opened[known] = self._opened(encryption)
        return key_of_data

    def _opened(self, encryption: Encryption) -> bytes:
        key = self._private_key(encryption.key_id)
        oaep, sha3 = _library("Cipher.PKCS1_OAEP"), _library("Hash.SHA3_512")
        try:
            data_key = oaep.new(key, hashAlgo=sha3).decrypt(encryption.data_key)
        except (ValueError, TypeError):
            data_key = b""
        if len(data_key) != _DATA_KEY:
            raise Malformed(
                "encryption.dataKey",
                "the private key does not open it: it is another key, or the manifest was changed",
                at=0,
                need=f"the private key {encryption.key_id[:80]!r}",
                have="one that does not fit",
            )
        return bytes(data_key)

    def _private_key(self, key_id: str) -> Any:
        name, text = self._pem(key_id)
        try:
            key = _library("PublicKey.RSA").import_key(text)
        except (ValueError, IndexError, TypeError):
            raise ArgumentError(f"{name}: not an RSA key in PEM without a passphrase") from None
        if not key.has_private():
            raise ArgumentError(f"{name}: a public key, and the private one is needed")
        return key

    def _pem(self, key_id: str) -> tuple[str, bytes]:
        """The name of the key for errors, and the key."""
        if self.command is not None:
            return self._printed(self.command, key_id)
        if self.file is None:
            raise Unsupported(
                "encryption",
                "give the private key: --tier-key FILE, --tier-key-command CMD, in Spark the options "
                f"tierKey or tierKeyCommand, or {TIER_KEY} or {TIER_KEY_COMMAND} in the environment",
                at=0,
                need=f"the private key {key_id[:80]!r}",
                have="none",
            )
        path = self.file
        if path.is_dir():
            if key_id in (".", "..") or any(character in key_id for character in "/\\\0"):
                raise ArgumentError(f"key {key_id[:80]!r}: no file can have this name")
            path = path / f"{key_id}.pem"
        try:
            with path.open("rb") as file:
                return str(path), file.read(_MOST_OF_A_KEY)
        except OSError as error:
            raise ArgumentError(f"the key {key_id[:80]!r}, {path}: {error.strerror}") from None

    @staticmethod
    def _printed(command: str, key_id: str) -> tuple[str, bytes]:
        source = "the command for the private key"
        # Imported here: this is a third of what Python itself takes to start.
        import shlex
        import subprocess

        try:
            words = shlex.split(command)
            process = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
                env={**os.environ, KEY_ID: key_id},
            )
        except (ValueError, IndexError):
            raise ArgumentError(f"{source} is empty, or has an open quote") from None
        except subprocess.TimeoutExpired:
            raise ArgumentError(f"{source} did not end in {_SECONDS} s") from None
        except OSError as error:
            raise ArgumentError(f"{source} cannot be run: {error.strerror}") from None
        if process.returncode:
            raise ArgumentError(f"{source} ended with code {process.returncode}")
        return f"what {source} prints", process.stdout[:_MOST_OF_A_KEY]


# Opening a key takes milliseconds, and files of a segment are opened again and again.
_opened: dict[tuple[TierKeys, str, bytes], bytes] = {}
_MOST_OPENED = 10_000


def decrypted(data: bytes, key: bytes, aad: bytes, what: str) -> bytes:
    """The content of an encrypted chunk or index.

    Args:
        data: as stored.
        key: the data key. aad: the additional data of the segment.
        what: `data` is, for errors.

    Raises: Malformed where the tag is wrong; MissingDependency.
    """
    aes = _library("Cipher.AES")
    if len(data) < CIPHER_BYTES:
        raise Malformed(what, "too short to be encrypted", at=0, need=CIPHER_BYTES, have=len(data))
    cipher = aes.new(key, aes.MODE_GCM, nonce=data[:_IV], mac_len=_TAG)
    cipher.update(aad)
    try:
        return bytes(cipher.decrypt_and_verify(data[_IV:-_TAG], data[-_TAG:]))
    except ValueError:
        raise Malformed(
            what, "it was changed after it was encrypted", at=0, need="the tag of its content", have="another"
        ) from None


def _library(name: str) -> ModuleType:
    import importlib

    try:
        return importlib.import_module(f"Cryptodome.{name}")
    except ImportError as missing:
        text = f"encrypted segments in remote storage need pycryptodomex: {install_command('tier')}"
        raise MissingDependency(text, name="Cryptodome") from missing
