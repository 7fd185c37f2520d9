"""Whether a window could be shown."""

import socket
import sys

import pytest

from homeai.cli.display import has_display


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_desktop_systems_always_have_a_screen(platform):
    assert has_display({}, platform)


def test_a_platform_chosen_for_qt_is_believed():
    assert has_display({"QT_QPA_PLATFORM": "offscreen"}, "linux")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DISPLAY": ""},
        {"DISPLAY": "nonsense"},
        {"DISPLAY": ":9731"},
        {"DISPLAY": "unix:9731.0"},
        {"DISPLAY": "localhost:9731.0"},
        {"DISPLAY": "/nowhere/display:0"},
        {"WAYLAND_DISPLAY": "wayland-9731", "XDG_RUNTIME_DIR": "/nowhere"},
        {"WAYLAND_DISPLAY": "x" * 500},
    ],
    ids=str,
)
def test_a_display_that_nobody_answers_is_none(environment):
    assert not has_display(environment, "linux")


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
@pytest.mark.parametrize("relative", [True, False], ids=["a name", "a path"])
def test_a_wayland_session_that_answers_is_a_display(tmp_path, relative):
    place = tmp_path / "wayland-7"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()

        environment = {
            "WAYLAND_DISPLAY": place.name if relative else str(place),
            "XDG_RUNTIME_DIR": str(tmp_path),
        }
        assert has_display(environment, "linux")


def test_a_display_over_the_network_is_asked_at_its_port():
    ports = range(15_100, 15_200)
    for number in ports:
        try:
            server = socket.create_server(("127.0.0.1", number))
        except OSError:  # another program's
            continue
        break
    with server:
        display = f"127.0.0.1:{number - 6000}"
        assert has_display({"DISPLAY": f"{display}.0"}, "linux")
    assert not has_display({"DISPLAY": display}, "linux")
