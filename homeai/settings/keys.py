"""API keys: the secret is shown once, only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from homeai.settings.files import locked, write_private

PREFIX = "hai_"
_NAME = re.compile(r"\w[\w .-]{0,63}")
_RESERVED = re.compile(r"desktop|local.*", re.IGNORECASE)


class KeyFileError(Exception):
    """A key's name cannot be used, or the key file cannot be read."""


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
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            self._keys = self._read()
            self._stamp = stamp
        return self._keys

    def _read(self) -> tuple[ApiKey, ...]:
        try:
            entries = json.loads(self._file.read_bytes())
            return tuple(ApiKey(e["name"], e["sha256"], e["created"]) for e in entries)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise KeyFileError("the key file cannot be read; no key is accepted") from error

    def create(self, name: str) -> str:
        """Make a key and return its secret, which is not kept.

        Raises:
            KeyFileError: The name is taken, reserved or malformed.
        """
        name = name.strip()
        if not _NAME.fullmatch(name):
            raise KeyFileError(
                f"{name!r} cannot be a key's name; allowed are 1 to 64 letters, digits, . - _ and spaces"
            )
        if _RESERVED.fullmatch(name):
            raise KeyFileError(f"{name!r} is a name homeai uses itself; choose another")
        secret = PREFIX + secrets.token_urlsafe(32)
        key = ApiKey(
            name, _digest(secret.encode()), datetime.now(UTC).isoformat(timespec="seconds")
        )
        with locked(self._file):
            keys = self.list()
            if any(other.name == name for other in keys):
                raise KeyFileError(f"there is a key named {name!r} already; revoke it first")
            self._write((*keys, key))
        return secret

    def revoke(self, name: str) -> bool:
        """Remove a key; False if there is none of that name."""
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
