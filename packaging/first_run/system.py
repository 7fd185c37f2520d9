"""What the operating system must provide, what of it is missing, and the line that installs it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

APT, DNF, PACMAN, BREW, WINGET = "apt", "dnf", "pacman", "brew", "winget"

_INSTALL: Mapping[str, tuple[str, ...]] = {
    APT: ("apt-get", "install", "-y", "--no-install-recommends"),
    DNF: ("dnf", "install", "-y"),
    PACMAN: ("pacman", "-S", "--needed"),
    BREW: ("brew", "install"),
    WINGET: ("winget", "install"),
}

# Distribution (ID or ID_LIKE of os-release) to package tool.
_DISTRIBUTIONS = {
    "debian": APT,
    "ubuntu": APT,
    "fedora": DNF,
    "rhel": DNF,
    "centos": DNF,
    "arch": PACMAN,
}

_COMPILE_CHECK = "#include <vector>\n#include <stdlib.h>\nint main() { return 0; }\n"


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """One thing the system must have.

    Attributes:
        what: Its name for a person.
        packages: Package by package tool; what a tool does not list it has no package for.
        is_there: Looks for it; called only when the thing is needed.
    """

    what: str
    packages: Mapping[str, str]
    is_there: Callable[[], bool]


def package_tool(
    platform: str = sys.platform, os_release: Path = Path("/etc/os-release")
) -> str | None:
    """Return the package tool of this system, or None where it is not known."""
    if platform == "darwin":
        return BREW
    if platform == "win32":
        return WINGET
    fields = {}
    if os_release.is_file():
        for line in os_release.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            fields[key] = value.strip("\"'")
    names = [fields.get("ID", ""), *fields.get("ID_LIKE", "").split()]
    return next((_DISTRIBUTIONS[name] for name in names if name in _DISTRIBUTIONS), None)


def _has_compiler() -> bool:
    if sys.platform == "win32":
        installer = Path(os.environ.get("PROGRAMFILES(X86)", "C:/Program Files (x86)"))
        return (
            bool(shutil.which("cl"))
            or (installer / "Microsoft Visual Studio/Installer/vswhere.exe").is_file()
        )
    if not any(map(shutil.which, ("make", "gmake", "ninja"))):
        return False
    compilers = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((found for name in compilers if name and (found := shutil.which(name))), None)
    if compiler is None:
        return False
    # A compiler without the C library's headers is there and of no use, so it has to prove itself.
    command = [compiler, "-x", "c++", "-", "-fsyntax-only"]
    done = subprocess.run(command, input=_COMPILE_CHECK.encode(), capture_output=True, check=False)
    return done.returncode == 0


def _has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _library(name: str, apt: str, dnf: str, pacman: str) -> Need:
    packages = {APT: apt, DNF: dnf, PACMAN: pacman}
    return Need(f"{name} (Qt needs it)", packages, lambda: _has_library(name))


def _program(name: str, apt: str, dnf: str, pacman: str) -> Need:
    packages = {APT: apt, DNF: dnf, PACMAN: pacman}
    return Need(name, packages, lambda: shutil.which(name) is not None)


VENV = Need(
    "Python's venv and ensurepip modules",
    {
        APT: f"python3.{sys.version_info.minor}-venv",
        DNF: "python3-libs",
        PACMAN: "python",
        BREW: "python",
        WINGET: "Python.Python.3.13",
    },
    lambda: all(map(importlib.util.find_spec, ("venv", "ensurepip"))),
)

# llama-cpp-python comes as source and is compiled for this machine's processor.
COMPILER = Need(
    "a C++ compiler and make" if sys.platform != "win32" else "Visual Studio's C++ build tools",
    {
        APT: "build-essential",
        DNF: "gcc-c++ make",
        PACMAN: "base-devel",
        BREW: "llvm make",
        WINGET: "Microsoft.VisualStudio.2022.BuildTools",
    },
    _has_compiler,
)
CMAKE = Need(
    "cmake",
    {APT: "cmake", DNF: "cmake", PACMAN: "cmake", BREW: "cmake", WINGET: "Kitware.CMake"},
    lambda: shutil.which("cmake") is not None,
)

QT_LIBRARIES = (
    _library("libglib-2.0.so.0", "libglib2.0-0", "glib2", "glib2"),
    _library("libdbus-1.so.3", "libdbus-1-3", "dbus-libs", "dbus"),
    _library("libGL.so.1", "libgl1", "libglvnd-glx", "libglvnd"),
    _library("libEGL.so.1", "libegl1", "libglvnd-egl", "libglvnd"),
    _library("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    _library("libfontconfig.so.1", "libfontconfig1", "fontconfig", "fontconfig"),
)
# What the xcb plugin asks for on top; Qt's own message names only the first.
X11_LIBRARIES = (
    _library("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    _library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    _library("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    _library("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    _library("libxcb-shape.so.0", "libxcb-shape0", "libxcb", "libxcb"),
)

# Without these some tests are skipped; `CI=true` makes them a must.
TEST_PROGRAMS = (
    _program("Xvfb", "xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    _program("openbox", "openbox", "openbox", "openbox"),
    _program("trayer", "trayer", "trayer", "trayer"),
    _program("xdotool", "xdotool", "xdotool", "xdotool"),
    _program("import", "imagemagick", "ImageMagick", "imagemagick"),
    _program("dbus-run-session", "dbus", "dbus-daemon", "dbus"),
    _program("gcc", "gcc libc6-dev", "gcc", "gcc"),
    _program("curl", "curl", "curl", "curl"),
)


def missing(needs: Iterable[Need]) -> list[Need]:
    """Return those of the needs that are not there."""
    return [need for need in needs if not need.is_there()]


def _packages(needs: Iterable[Need], tool: str) -> list[str]:
    """Package names, each once, in the order of the needs."""
    names = (name for need in needs for name in need.packages.get(tool, "").split())
    return list(dict.fromkeys(names))


def install_command(needs: Iterable[Need], tool: str) -> list[str]:
    """The command that installs the needs, for the superuser where the tool asks for one."""
    return [*_INSTALL[tool], *_packages(needs, tool)]


def is_superuser() -> bool:
    """Whether this process may install packages (always False on Windows)."""
    return sys.platform != "win32" and os.geteuid() == 0


def install_line(needs: Iterable[Need], tool: str | None) -> str:
    """The line a person types to install the needs."""
    needs = list(needs)
    if tool is None:
        names = " ".join(_packages(needs, APT))
        return f"install these with your system's package tool (names as in Debian): {names}"
    if tool == WINGET:
        # winget takes one package a call, and the build tools come without a compiler by default.
        extra = {
            "Microsoft.VisualStudio.2022.BuildTools": ' --override "--wait --passive --add '
            'Microsoft.VisualStudio.Workload.VCTools --includeRecommended"'
        }
        lines = [f"winget install {name}{extra.get(name, '')}" for name in _packages(needs, WINGET)]
        return "\n".join(lines)
    if tool == BREW:
        # The compiler comes from Apple, everything else from Homebrew.
        apple = ["xcode-select --install"] if COMPILER in needs else []
        rest = [need for need in needs if need is not COMPILER]
        brew = [" ".join(install_command(rest, BREW))] if rest else []
        return " && ".join(apple + brew)
    sudo = "" if is_superuser() else "sudo "
    line = sudo + " ".join(install_command(needs, tool))
    return f"{sudo}apt-get update && {line}" if tool == APT else line


def install_line_for_programs(names: Iterable[str]) -> str:
    """The install line for test programs; one that is not in the list goes by its own name."""
    known = {need.what: need for need in TEST_PROGRAMS}
    needs = [known.get(name) or _program(name, name, name, name) for name in names]
    return install_line(needs, package_tool())
