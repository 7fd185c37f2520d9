"""API keys: the secret is shown once, only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from homeai.settings.files import locked, write_private

PREFIX = "hai_"
_NAME = re.compile(r"[^\W_][\w .-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = "the key file cannot be read; no key is accepted"
_RESERVED = re.compile(r"desktop|local.*", re.IGNORECASE)


class KeyFileError(Exception):
    """The key file cannot be read; nobody is let in."""


class KeyNameError(KeyFileError):
    """A key's name cannot be used."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One device's key.

    Attributes:
        name: What the owner calls it.
        sha256: Hex digest of the secret; the secret has 256 random bits, so a plain hash is enough.
        created: ISO 8601 UTC.
    """

    name: str
    sha256: str
    created: str


class KeyRing:
    """The keys in one file; read again whenever the file changes.

    Args:
        file: JSON, owner-only.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[ApiKey, ...] = ()

    def list(self) -> tuple[ApiKey, ...]:
        """All keys, oldest first.

        Raises:
            KeyFileError: The file is broken. Nobody is let in then.
        """
        try:
            status = self._file.stat()
        except FileNotFoundError:
            self._stamp, self._keys = None, ()
            return ()
        except OSError as error:
            raise KeyFileError(_UNREADABLE) from error
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            self._keys = self._read()
            self._stamp = stamp
        return self._keys

    def _read(self) -> tuple[ApiKey, ...]:
        try:
            return _keys(json.loads(self._file.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise KeyFileError(_UNREADABLE) from error

    def create(self, name: str) -> str:
        """Make a key and return its secret, which is not kept.

        Raises:
            KeyNameError: The name is taken, reserved or malformed.
            KeyFileError: The key file is broken; it is left as it is.
            OSError: The file cannot be written.
        """
        name = _normal(name)
        if not _NAME.fullmatch(name):
            raise KeyNameError(
                f"{name[:80]!r} cannot be a key's name; allowed are 1 to 64 letters, digits, spaces "
                "and . - _ with a letter or digit first"
            )
        if _RESERVED.fullmatch(name):
            raise KeyNameError(f"{name!r} is a name homeai uses itself; choose another")
        secret = PREFIX + secrets.token_urlsafe(32)
        key = ApiKey(
            name, _digest(secret.encode()), datetime.now(UTC).isoformat(timespec="seconds")
        )
        with locked(self._file):
            keys = self.list()
            if any(other.name == name for other in keys):
                raise KeyNameError(f"there is a key named {name!r} already; revoke it first")
            self._write((*keys, key))
        return secret

    def revoke(self, name: str) -> bool:
        """Remove a key; False if there is none of that name.

        Raises:
            KeyFileError: The key file is broken; it is left as it is.
            OSError: The file cannot be written.
        """
        name = _normal(name)
        with locked(self._file):
            keys = self.list()
            rest = tuple(key for key in keys if key.name != name)
            if len(rest) == len(keys):
                return False
            self._write(rest)
        return True

    def match(self, presented: bytes) -> str | None:
        """Return the name of the key whose secret was presented, or None.

        Every key is compared, in constant time, as bytes.

        Raises:
            KeyFileError: The key file is broken.
        """
        digest, found = _digest(presented).encode(), None
        for key in self.list():
            if hmac.compare_digest(digest, key.sha256.encode()):
                found = key.name
        return found

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        entries = [{"name": k.name, "sha256": k.sha256, "created": k.created} for k in keys]
        write_private(self._file, json.dumps(entries, ensure_ascii=False, indent=1).encode())
        self._stamp = None


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def _normal(name: str) -> str:
    """One spelling for what looks the same: an umlaut may be typed as one character or as two."""
    return unicodedata.normalize("NFC", name).strip()


def _keys(entries: object) -> tuple[ApiKey, ...]:
    if not isinstance(entries, list):
        raise TypeError(type(entries))
    return tuple(_key(entry) for entry in entries)


def _key(entry: dict[str, object]) -> ApiKey:
    name, sha256, created = entry["name"], entry["sha256"], entry["created"]
    if not (isinstance(name, str) and isinstance(sha256, str) and isinstance(created, str)):
        raise TypeError(type(entry))
    if not _DIGEST.fullmatch(sha256):
        raise ValueError(name)
    return ApiKey(name, sha256, created)
