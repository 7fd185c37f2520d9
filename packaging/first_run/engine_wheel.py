"""The wheel of llama-cpp-python: compiled once for this processor, then kept outside the tree."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from first_run.lock import exclusive
from first_run.places import Places
from first_run.problems import SetupError
from first_run.steps import clean_environment, run_step, say

PACKAGE = "llama-cpp-python"
BUILD_TOOLS = "scikit-build-core[pyproject]"
# One job of ggml's C++ needs about this much; more jobs than that swap.
BYTES_A_JOB = 1_500_000_000
# What changes the compiled code, besides the processor.
BUILD_VARIABLES = ("CMAKE_ARGS", "CC", "CXX", "CFLAGS", "CXXFLAGS", "FORCE_CMAKE")


def pinned_version(constraints: Path, package: str) -> str:
    """The version that the constraints file pins `package` to.

    Raises:
        SetupError: It is not pinned there.
    """
    match = re.search(rf"(?mi)^{re.escape(package)}==(\S+)", constraints.read_text("utf-8"))
    if match is None:
        msg = f"{constraints} does not pin {package}"
        raise SetupError(msg)
    return match[1]


def processor() -> str:
    """What tells this processor from others: its model and its instruction set extensions."""
    system = platform.system()
    if system == "Linux":
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
        # x86 calls them "model name" and "flags", Arm "CPU part" and "Features".
        pattern = r"(?m)^(?:model name|flags|CPU part|Features)\s*:.*$"
        return "\n".join(sorted(set(re.findall(pattern, text))))
    if system == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()
    return platform.processor()


def cache_key(version: str) -> str:
    """Folder name of the wheel: readable in front, then a hash of all it depends on."""
    build = [f"{name}={os.environ.get(name, '')}" for name in BUILD_VARIABLES]
    facts = "\n".join([version, sysconfig.get_platform(), processor(), *build])
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{PACKAGE}-{version}-{tag}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"


def is_sound(wheel: Path) -> bool:
    """Whether every file in the wheel can be read back and the engine's library is among them."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            has_engine = any(re.match(r"llama_cpp/lib/(lib)?llama\.", name) for name in names)
            return has_engine and archive.testzip() is None
    except (OSError, zipfile.BadZipFile, EOFError, ValueError):
        return False


def find(places: Places) -> Path | None:
    """The cached wheel for this processor; a damaged one is removed and not returned."""
    folder = places.wheels / cache_key(pinned_version(places.constraints, PACKAGE))
    for wheel in sorted(folder.glob("*.whl")):
        if is_sound(wheel):
            return wheel
        say(f"the cached wheel {wheel} is damaged and will be built again")
        wheel.unlink()
    return None


def parallel_jobs(cores: int, memory_bytes: int) -> int:
    """Compile jobs that fit both the cores and the memory."""
    return max(1, min(cores, memory_bytes // BYTES_A_JOB))


def _memory_bytes() -> int:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 8 * BYTES_A_JOB


def ensure(places: Places) -> Path:
    """Return the wheel, compiled now unless the cache has it.

    A build that was cut off goes on where it stopped: sources, tools and objects lie in the cache.

    Raises:
        SetupError: The download or the compiler failed.
    """
    version = pinned_version(places.constraints, PACKAGE)
    key = cache_key(version)
    with exclusive(places.wheels / f"{key}.lock"):
        found = find(places)
        if found is not None:
            return found
        work = places.wheels / f"{key}.building"
        resumed = (work / "objects").is_dir()
        if resumed:
            say("a build of the engine was cut off; going on with it")
        try:
            built = _build(places, version, work)
        except SetupError:
            if not resumed:
                raise
            # What a cut-off build left may be what breaks this one: once more from nothing.
            say("the continued build failed; starting it again from nothing")
            shutil.rmtree(work)
            built = _build(places, version, work)
        final = places.wheels / key / built.name
        final.parent.mkdir(parents=True, exist_ok=True)
        os.replace(built, final)
        shutil.rmtree(work)
    return final


def _build(places: Places, version: str, work: Path) -> Path:
    work.mkdir(parents=True, exist_ok=True)
    python = _tools(places, work)
    source = _source(places, version, work, python)
    jobs = parallel_jobs(os.cpu_count() or 1, _memory_bytes())
    wheels = work / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    command = [str(python), "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation"]
    command += ["--config-settings", f"build-dir={work / 'objects'}", "-w", str(wheels)]
    run_step(
        f"compiling {PACKAGE} {version} for this processor: once, about 4 minutes on 2 cores "
        f"({jobs} {'job' if jobs == 1 else 'jobs'})",
        [*command, str(source)],
        places.logs / "engine-build.log",
        env=clean_environment({"CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)}),
    )
    built = next(wheels.glob("*.whl"), None)
    if built is None or not is_sound(built):
        msg = f"the build of {PACKAGE} gave no usable wheel; its output is in {places.logs}"
        raise SetupError(msg)
    return built


def _tools(places: Places, work: Path) -> Path:
    """A small environment with the build tools, at a path that stays: cmake remembers it."""
    venv = work / "tools"
    windows = sys.platform == "win32"
    python = venv / ("Scripts/python.exe" if windows else "bin/python")
    ready = work / "tools.ready"
    if not ready.is_file():
        shutil.rmtree(venv, ignore_errors=True)
        log = places.logs / "engine-tools.log"
        run_step("preparing the build tools", [sys.executable, "-m", "venv", str(venv)], log)
        install = [str(python), "-m", "pip", "install", "-c", str(places.constraints), BUILD_TOOLS]
        run_step("installing the build tools", install, log)
        ready.touch()
    return python


def _source(places: Places, version: str, work: Path, python: Path) -> Path:
    source = work / "source"
    if source.is_dir():
        return source
    command = [str(python), "-m", "pip", "download", "--no-deps", "--no-build-isolation"]
    command += ["--no-binary", PACKAGE, "-d", str(work), f"{PACKAGE}=={version}"]
    log = places.logs / "engine-download.log"
    run_step(f"downloading the source of {PACKAGE} {version} (about 70 MB)", command, log)
    archive = next(work.glob("*.tar.gz"))
    unpacked = work / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    # Debian 12's Python 3.11.2 has no filters yet; what is unpacked is built and run in any case.
    safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, **safely)  # noqa: S202
    # The name that counts appears only when everything below it is whole.
    os.replace(next(unpacked.iterdir()), source)
    return source
