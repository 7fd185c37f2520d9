"""The whole product on a screen of its own: tray, window, real core, real model, keyboard."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from homeai.settings import corefile

pytestmark = [
    pytest.mark.x11,
    pytest.mark.needs_program("Xvfb", "openbox", "trayer", "xdotool", "import"),
    pytest.mark.timeout(120),
]
SHOTS = Path("artifacts/screenshots")
WAIT_S = 40


def until(condition, what: str):
    """Poll until `condition()` gives something true; returns it."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"waited for {what}"
        subprocess.run(["sleep", "0.1"], check=True)
    return value


@contextmanager
def running(command, environment) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def screen(tmp_path):
    """Environment with a display, a window manager and a tray."""
    with ExitStack() as stack:
        reader, writer = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
            pass_fds=[writer],
            stderr=subprocess.DEVNULL,
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            display = pipe.readline().strip()
        environment = {
            **os.environ,
            "DISPLAY": f":{display}",
            "HOME": str(tmp_path),
            "QT_QPA_PLATFORM": "xcb",
            "LIBGL_ALWAYS_SOFTWARE": "1",
        }
        for name in ("DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        stack.enter_context(running(["openbox"], environment))
        trayer = ["trayer", "--edge", "bottom", "--align", "right", "--widthtype", "request"]
        stack.enter_context(running([*trayer, "--height", "28"], environment))
        search = ["xdotool", "search", "--class", "trayer"]
        until(
            lambda: (
                subprocess.run(search, env=environment, capture_output=True, check=False).stdout
            ),
            "tray",
        )
        yield environment


def xdotool(environment, *arguments: str) -> str:
    run = subprocess.run(
        ["xdotool", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return run.stdout.strip()


def picture(environment, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    target = str(SHOTS / f"{name}.png")
    subprocess.run(["import", "-window", "root", target], env=environment, check=True)


def ask_core(core: corefile.CoreFile, path: str) -> dict:
    request = urllib.request.Request(core.url + path)  # noqa: S310 -- our own core
    request.add_header("Authorization", f"Bearer {core.token}")
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
        return json.load(response)


def test_chat_from_the_tray_app_with_the_real_model_and_quit_leaves_nothing(
    screen, starter_model, tmp_path
):
    home = tmp_path / "home"
    models = home / "data" / "models"
    models.mkdir(parents=True)
    shutil.copy(starter_model, models)
    environment = {
        **screen,
        "HOMEAI_HOME": str(home),
        "HOMEAI_SERVER__PORT": "0",
        "HOMEAI_LIMITS__CONTEXT_TOKENS": "1024",
        "HOMEAI_MEMORY__RAM_RESERVE_MIN_MIB": "256",
    }
    with running([sys.executable, "-m", "homeai"], environment) as desktop:
        window = until(
            lambda: xdotool(environment, "search", "--onlyvisible", "--name", "^homeai$"), "window"
        ).splitlines()[0]
        core = until(lambda: corefile.read(home / "run" / "core.json"), "core")
        until(lambda: ask_core(core, "/homeai/v1/status")["state"] == "ready", "model")
        family = psutil.Process(desktop.pid).children(recursive=True)
        assert len(family) >= 2

        xdotool(environment, "windowactivate", "--sync", window)
        until(lambda: _typed(environment, window, core), "answer")
        picture(environment, "desktop-with-tray")

        second = subprocess.run(
            [sys.executable, "-m", "homeai"],
            env=environment,
            timeout=30,
            capture_output=True,
            check=False,
        )
        assert second.returncode == 0
        desktop.terminate()
        assert desktop.wait(30) == 0
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert corefile.read(home / "run" / "core.json") is None


def _typed(environment, window: str, core: corefile.CoreFile) -> bool:
    """Type a question if none is under way; true once an answer is finished."""
    records = ask_core(core, "/homeai/v1/requests")["requests"]
    if not records:
        xdotool(environment, "type", "--window", window, "--delay", "5", "Name a colour.")
        xdotool(environment, "key", "--window", window, "Return")
        subprocess.run(["sleep", "1"], check=True)
        return False
    return records[0]["state"] == "finished"
