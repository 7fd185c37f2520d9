"""Builds `llama-server` from the llama.cpp sources inside the sdist of the installed llama-cpp-python.

The build lies in a cache folder outside the tree, keyed by version, build options and processor.
Nothing is fetched while it builds; only the sdist itself comes from the package index.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import platformdirs

# Release with the wheel's own defaults (shared libraries, -march=native); no UI, TLS, tests, fetching.
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DGGML_NATIVE=ON",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_BUILD_SERVER=ON",
    "-DLLAMA_BUILD_TOOLS=ON",
    "-DLLAMA_BUILD_COMMON=ON",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DFETCHCONTENT_FULLY_DISCONNECTED=ON",
)


class BuildFailed(RuntimeError):
    """llama-server could not be built; the message says at which step, with the end of its output."""


def installed_version() -> str:
    """Version of the installed llama-cpp-python."""
    return version("llama-cpp-python")


def default_cache() -> Path:
    """Where builds are kept: `HOMEAI_BENCH_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("HOMEAI_BENCH_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("homeai-bench"))


def processor() -> str:
    """Name and feature flags of the processor; a native build runs on an equal one only."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


def key() -> str:
    """Name of the cache entry for this version, these options and this processor."""
    deciding = "\n".join([installed_version(), *OPTIONS, processor(), platform.machine()])
    return (
        f"llama-server-{installed_version()}-{hashlib.sha256(deciding.encode()).hexdigest()[:12]}"
    )


def ensure(cache: Path, source: Path | None = None, jobs: int | None = None) -> Path:
    """Return the binary, built now if the cache has none.

    Args:
        cache: Folder for sources and builds.
        source: Unpacked sdist of llama-cpp-python; None = fetch the installed version's.
        jobs: Parallel compile jobs; None = one a core.

    Raises:
        BuildFailed: A step failed, or `cmake` is missing.
    """
    entry = cache / key()
    binary = entry / "build" / "bin" / ("llama-server.exe" if os.name == "nt" else "llama-server")
    done = entry / "complete"
    if done.exists() and binary.exists():
        return binary
    if shutil.which("cmake") is None:
        msg = "cmake was not found; on Debian and Ubuntu: apt install cmake g++"
        raise BuildFailed(msg)
    entry.mkdir(parents=True, exist_ok=True)
    tree = (source or _fetch(entry)) / "vendor" / "llama.cpp"
    if not (tree / "CMakeLists.txt").exists():
        msg = (
            f"{tree} holds no llama.cpp sources; --source wants an unpacked llama-cpp-python sdist"
        )
        raise BuildFailed(msg)
    log = entry / "build.log"
    print(
        f"building llama-server {installed_version()} (some minutes once), log: {log}", flush=True
    )
    _step(["cmake", "-S", str(tree), "-B", str(entry / "build"), *OPTIONS], log)
    many = str(jobs or os.cpu_count() or 1)
    _step(["cmake", "--build", str(entry / "build"), "--target", "llama-server", "-j", many], log)
    done.write_text(f"{installed_version()}\n", "utf-8")
    return binary


def _fetch(entry: Path) -> Path:
    """Fetch and unpack the sdist; returns its top folder."""
    wanted = f"llama-cpp-python=={installed_version()}"
    unpacked = entry / "source"
    found = list(unpacked.glob("llama_cpp_python-*/vendor/llama.cpp/CMakeLists.txt"))
    if not found:
        print(f"fetching the sources of {wanted}", flush=True)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary"]
        command += ["llama-cpp-python", "--dest", str(entry), wanted]
        _step(command, entry / "fetch.log")
        (archive,) = entry.glob("llama_cpp_python-*.tar.gz")
        partial = entry / "source.partial"
        shutil.rmtree(partial, ignore_errors=True)
        with tarfile.open(archive) as packed:
            packed.extractall(partial, filter="data")
        partial.rename(unpacked)
        archive.unlink()
        found = list(unpacked.glob("llama_cpp_python-*/vendor/llama.cpp/CMakeLists.txt"))
    if not found:
        msg = f"the sdist of {wanted} holds no llama.cpp sources"
        raise BuildFailed(msg)
    return found[0].parents[2]


def _step(command: list[str], log: Path) -> None:
    polite = ["nice", "-n", "10", *command] if shutil.which("nice") else command
    with log.open("ab") as out:
        status = subprocess.run(
            polite, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False
        ).returncode
    if status != 0:
        end = log.read_text("utf-8", "replace")[-2000:]
        msg = f"{command[0]} gave status {status}; the end of {log}:\n{end}"
        raise BuildFailed(msg)


def version_line(binary: Path) -> str:
    """What the binary says of itself, one line.

    Raises:
        BuildFailed: It does not run.
    """
    try:
        said = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        msg = f"{binary} does not run: {error}"
        raise BuildFailed(msg) from error
    return "; ".join((said.stdout + said.stderr).strip().splitlines())
