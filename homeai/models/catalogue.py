"""Which models there are. Names are public ids: they never show a folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from homeai.models.facts import ModelFacts, inspect
from homeai.models.integrity import TINY_PARAMETERS, sha256
from homeai.models.problems import ModelFileError

_HASH_FILE = "hashes.json"
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A file in the catalogue.

    Attributes:
        name: Public id, unique in the catalogue.
        path: Where it lies; never leaves this machine.
        created: Unix time of the file, seconds.
        facts: What it is; None if it cannot be used.
        problem: Why it cannot be used.
    """

    name: str
    path: Path
    created: int
    facts: ModelFacts | None
    problem: ModelFileError | None

    @property
    def path_hash(self) -> str:
        """Names the file without showing where it lies: 12 hex digits."""
        return hashlib.sha256(os.fsencode(self.path.absolute())).hexdigest()[:12]

    @property
    def tiny(self) -> bool:
        """Whether the model is too small for real work."""
        return self.facts is not None and self.facts.parameters < TINY_PARAMETERS


def public_name(path: Path) -> str:
    """Return the file's stem without control characters and lone surrogates."""
    stem = path.name[: -len(path.suffix)] if path.suffix else path.name
    clean = "".join(c if c.isprintable() else "_" for c in stem)
    return clean.encode("utf-8", "replace").decode() or "model"


class Catalogue:
    """Model files in some folders.

    Args:
        own: Folder of homeai's own files; need not exist.
        others: Further folders, read in place.
    """

    def __init__(self, own: Path, others: Iterable[Path] = ()) -> None:
        self.own = own
        self._folders = [own, *others]
        self._cache: dict[Path, tuple[tuple[int, int], ModelEntry]] = {}

    def entries(self) -> list[ModelEntry]:
        """All files, in order of names; files that cannot be used say why."""
        found: list[ModelEntry] = []
        taken: set[str] = set()
        for path in sorted({p.absolute() for p in self._files()}):
            entry = self._entry(path)
            if entry is None:
                continue
            if entry.name in taken:
                name = f"{entry.name}-{entry.path_hash[:6]}"
                entry = ModelEntry(name, entry.path, entry.created, entry.facts, entry.problem)
            taken.add(entry.name)
            found.append(entry)
        return sorted(found, key=lambda e: e.name.lower())

    def _files(self) -> Iterator[Path]:
        for folder in self._folders:
            with contextlib.suppress(OSError):  # a folder that is gone holds no models
                yield from (
                    path
                    for path in folder.iterdir()
                    if path.suffix.lower() == ".gguf"
                    and not path.name.startswith(".")
                    and not _LATER_PART.search(path.name)
                )

    def _entry(self, path: Path) -> ModelEntry | None:
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._cache.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        facts, problem = None, None
        try:
            facts = inspect(path)
        except ModelFileError as error:
            problem = error
        entry = ModelEntry(public_name(path), path, int(status.st_mtime), facts, problem)
        self._cache[path] = (stamp, entry)
        return entry

    def find(self, wanted: str) -> ModelEntry | None:
        """Return the entry of that public name, or of that file path, or None."""
        for entry in self.entries():
            if wanted in (entry.name, f"{entry.name}.gguf"):
                return entry
        path = Path(wanted).expanduser()
        if path.suffix.lower() == ".gguf" and path.is_file():
            return self._entry(path.absolute())
        return None

    def choose(self, wanted: str) -> ModelEntry | None:
        """Return the wanted model, or the largest usable one if nothing is wanted."""
        if wanted:
            return self.find(wanted)
        usable = [e for e in self.entries() if e.facts is not None and not e.facts.embeds]
        return max(usable, key=lambda e: e.facts.parameters if e.facts else 0, default=None)

    def add(self, source: Path, *, link: bool = False) -> ModelEntry:
        """Take a file into the own folder, whole or not at all; its hash is recorded.

        Args:
            source: A usable model.
            link: Refer to the file where it lies instead of copying it.

        Raises:
            ModelFileError: It is no usable model, or one of that name exists.
            OSError: No room, no right.
        """
        inspect(source)
        target = self.own / source.name
        if target.exists():
            raise ModelFileError("exists", f"There is a model file named {source.name!r} already.")
        self.own.mkdir(mode=0o700, parents=True, exist_ok=True)
        if link:
            target.symlink_to(source.absolute())
        else:
            part = target.with_name(f".{target.name}.part")
            shutil.copyfile(source, part)
            part.replace(target)
        self._record(target.name, sha256(target))
        entry = self._entry(target.absolute())
        if entry is None:
            raise ModelFileError("unreadable", "The file vanished while it was added.")
        return entry

    def remove(self, entry: ModelEntry) -> None:
        """Delete a file of the own folder.

        Raises:
            ModelFileError: The file belongs to another program or folder.
        """
        if entry.path.parent != self.own.absolute():
            raise ModelFileError("foreign", "The file lies outside homeai's own folder; it stays.")
        entry.path.unlink()
        self._record(entry.path.name, None)

    def recorded_hash(self, entry: ModelEntry) -> str | None:
        """SHA-256 at the time the file was added; None = not recorded."""
        return self._hashes().get(entry.path.name)

    def _hashes(self) -> dict[str, str]:
        try:
            recorded = json.loads((self.own / _HASH_FILE).read_bytes())
        except (OSError, ValueError):
            return {}
        return recorded if isinstance(recorded, dict) else {}

    def _record(self, name: str, digest: str | None) -> None:
        hashes = self._hashes()
        hashes.pop(name, None)
        if digest is not None:
            hashes[name] = digest
        part = self.own / f".{_HASH_FILE}.part"
        part.write_text(json.dumps(hashes, ensure_ascii=False, indent=1), encoding="utf-8")
        part.replace(self.own / _HASH_FILE)
