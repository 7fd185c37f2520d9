"""The virtual environment of the checkout: made, filled with pinned packages, and remembered."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from first_run import engine_wheel
from first_run.lock import exclusive
from first_run.places import Places
from first_run.problems import SetupError
from first_run.steps import clean_environment, run_step, say

STAMP_NAME = "homeai-bootstrap.json"
NO_QT = "No matching distribution found for PySide6"


@dataclass(slots=True)
class Stamp:
    """What the environment was made from; lies inside it, so that it goes with it.

    Attributes:
        inputs: Hash of everything that decides what is installed; "" while it is not finished.
        extras: Extras that are installed with these inputs.
        engine: Cache key of the installed llama-cpp-python, "" when none is.
    """

    inputs: str = ""
    extras: list[str] = field(default_factory=list)
    engine: str = ""

    @classmethod
    def read(cls, places: Places) -> Stamp | None:
        """The stamp, or None where there is none that can be read."""
        try:
            return cls(**json.loads((places.venv / STAMP_NAME).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, places: Places) -> None:
        """Keep the stamp in the environment."""
        part = places.venv / f"{STAMP_NAME}.part"
        part.write_text(json.dumps(asdict(self), indent=1), "utf-8")
        part.replace(places.venv / STAMP_NAME)


def inputs_hash(places: Places) -> str:
    """Hash of what decides the content of the environment, besides the extras."""
    files = (places.checkout / "pyproject.toml", places.constraints)
    digest = hashlib.sha256()
    for part in (sys.version, sys.base_prefix, str(places.checkout)):
        digest.update(part.encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def engine_key(places: Places) -> str:
    """Cache key of the engine's wheel for this machine."""
    version = engine_wheel.pinned_version(places.constraints, engine_wheel.PACKAGE)
    return engine_wheel.cache_key(version)


def is_ready(places: Places, extras: set[str]) -> bool:
    """Whether the environment is finished and has the extras."""
    stamp = Stamp.read(places)
    return (
        stamp is not None
        and places.python.exists()
        and stamp.inputs == inputs_hash(places)
        and stamp.engine == engine_key(places)
        and extras <= set(stamp.extras)
    )


def needs_compiler(places: Places) -> bool:
    """Whether the engine has yet to be compiled."""
    stamp = Stamp.read(places)
    installed = stamp is not None and stamp.engine == engine_key(places)
    return not installed and engine_wheel.find(places) is None


def make(places: Places, extras: set[str], *, desktop_required: bool) -> None:
    """Bring the environment up to date; every step may be repeated after a cut-off.

    Args:
        places: The folders.
        extras: Extras of pyproject.toml to install.
        desktop_required: Without it, a system that has no Qt package gets the core only.

    Raises:
        SetupError: A step failed.
    """
    with exclusive(places.logs / "lock"):
        if is_ready(places, extras):
            return  # another set-up did it while this one waited
        stamp = _ensure_venv(places)
        stamp.inputs = ""
        _install_engine(places, stamp)
        try:
            _install(places, extras)
        except SetupError as error:
            if desktop_required or NO_QT not in str(error):
                raise
            say("this system has no Qt package; going on without the window")
            _install(places, extras - {"desktop"})
        # The absence of Qt counts as done too, or each start would try again.
        known = set(stamp.extras) | extras
        stamp.inputs, stamp.extras = inputs_hash(places), sorted(known)
        stamp.write(places)


def run_python(places: Places, code: str) -> subprocess.CompletedProcess[str]:
    """Run a line of Python in the environment and return what it printed."""
    return subprocess.run(
        [str(places.python), "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=False,
    )


def _ensure_venv(places: Places) -> Stamp:
    stamp = Stamp.read(places)
    if places.python.exists() and _works(places):
        return stamp or Stamp()
    if places.venv.exists() and any(places.venv.iterdir()) and stamp is None:
        version = ".".join(map(str, sys.version_info[:2]))
        msg = f"{places.venv} was not made by this program and has no usable Python {version} with "
        msg += "pip; move it away and start again"
        raise SetupError(msg)
    if stamp is not None:
        shutil.rmtree(places.venv)
    places.venv.mkdir(parents=True, exist_ok=True)
    stamp = Stamp()
    stamp.write(places)  # from now on a half-made folder is known to be ours
    command = [sys.executable, "-m", "venv", str(places.venv)]
    run_step("making the virtual environment .venv", command, places.logs / "venv.log")
    return stamp


def _works(places: Places) -> bool:
    code = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        return run_python(places, code).returncode == 0
    except OSError:
        return False


def _pip(places: Places) -> list[str]:
    return [str(places.python), "-m", "pip", "install", "-c", str(places.constraints)]


def _install_engine(places: Places, stamp: Stamp) -> None:
    key = engine_key(places)
    if stamp.engine == key:
        return
    cached = engine_wheel.find(places)
    problem = _install_wheel(places, cached or engine_wheel.ensure(places))
    if problem is not None and cached is not None:
        say("the cached engine does not load here and will be built again")
        problem = _install_wheel(places, engine_wheel.ensure(places))
    if problem is not None:
        msg = f"the engine was built but does not load: {problem}"
        raise SetupError(msg)
    stamp.engine = key
    stamp.write(places)


def _install_wheel(places: Places, wheel: Path) -> str | None:
    """Install the engine; return why it does not load, after removing the wheel, or None."""
    command = [*_pip(places), "--force-reinstall", "--no-deps", str(wheel)]
    run_step("installing the engine", command, places.logs / "engine-install.log")
    problem = _engine_problem(places)
    if problem is not None:
        wheel.unlink(missing_ok=True)
    return problem


def _engine_problem(places: Places) -> str | None:
    """Load the engine's library alone: its Python package needs packages that come later."""
    code = (
        "import ctypes, importlib.util as u, pathlib as p; "
        "lib = p.Path(u.find_spec('llama_cpp').origin).parent / 'lib'; "
        "names = [n for s in ('libllama.so', 'libllama.dylib', 'llama.dll') "
        "if (n := lib / s).exists()]; "
        "ctypes.CDLL(str(names[0])).llama_backend_init()"
    )
    done = run_python(places, code)
    return None if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr[-500:]}"


def _install(places: Places, extras: set[str]) -> None:
    target = f"{places.checkout}[{','.join(sorted(extras))}]" if extras else str(places.checkout)
    # Both names: pip gave up the first for build environments in favour of the second.
    pins = {"PIP_CONSTRAINT": str(places.constraints)}
    pins["PIP_BUILD_CONSTRAINT"] = pins["PIP_CONSTRAINT"]
    run_step(
        f"installing homeai with its packages ({', '.join(sorted(extras)) or 'core only'})",
        [*_pip(places), "-e", target],
        places.logs / "install.log",
        env=clean_environment(pins),
    )


def model_folder(places: Places) -> Path:
    """The folder for models as homeai itself sees it.

    Raises:
        SetupError: homeai can't tell, for instance because HOMEAI_HOME is not usable.
    """
    code = "import os; from homeai.settings.paths import Paths; "
    code += "print(Paths.from_environment(os.environ).models, end='')"
    done = run_python(places, code)
    if done.returncode != 0 or not done.stdout:
        msg = f"the model folder is not known: {done.stderr.strip()[-1000:]}"
        raise SetupError(msg)
    return Path(done.stdout)
