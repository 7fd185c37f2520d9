"""By which names this computer may be called, and which pages may ask."""

import pytest

from homeai.server.hosts import ASK_AGAIN_S, HostRules, split_host


def rules(
    *, lan=False, own=("box", "box.local", "192.168.1.5", "fe80::1"), extra=(), origins=(), **more
):
    return HostRules(own, extra, origins, lan=lan, **more)


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8484", "localhost"),
        ("localhost.", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[::1]:8484", "::1"),
        ("[0:0:0:0:0:0:0:1]:8484", "::1"),
        ("[fe80::1%eth0]", "fe80::1"),
        ("Box.Local:8484", "box.local"),
        ("localhost:", "localhost"),
    ],
)
def test_a_host_has_one_spelling(value, host):
    assert split_host(value) == host


@pytest.mark.parametrize(
    "value",
    ["", " ", ":80", "localhost:x", "localhost:99999", "a b", "user@localhost", "localhost/x",
     "localhost?x", "localhost#x", "[::1", "::1", "[localhost]", "localhost:80:80", "localhost\\x"],
)  # fmt: skip
def test_what_is_no_host_is_none(value):
    assert split_host(value) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9:1", "[::1]:8484"])
def test_this_computer_is_always_known(host):
    assert rules().knows(host)


@pytest.mark.parametrize("host", ["box", "BOX.local:8484", "192.168.1.5", "[fe80::1]"])
def test_names_on_the_lan_count_only_when_it_is_let_in(host):
    assert rules(lan=True).knows(host)
    assert not rules().knows(host)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "192.168.1.6", "0.0.0.0"]
)
def test_other_names_are_unknown(host):
    assert not rules(lan=True).knows(host)


def test_listed_names_are_known_with_or_without_a_port():
    listed = rules(extra=["Home.Example:8484", "[fd00::5]"])

    assert listed.knows("home.example")
    assert listed.knows("[fd00::5]:1")


def test_addresses_are_asked_for_again_but_not_with_each_stranger():
    now, asked = [0.0], []

    def own_now():
        asked.append(now[0])
        return ["192.168.1.9"]

    changing = rules(lan=True, own_now=own_now, clock=lambda: now[0])

    assert not changing.knows("192.168.1.9")
    now[0] = ASK_AGAIN_S
    assert changing.knows("192.168.1.9")
    assert not changing.knows("evil.example")
    assert not changing.knows("192.168.1.5")
    assert asked == [ASK_AGAIN_S]


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8484", "localhost:8484"),
        ("http://LOCALHOST:8484", "localhost:8484"),
        ("http://localhost", "localhost"),
        ("http://localhost:80", "localhost"),
        ("https://home.example", "home.example"),
        ("http://[::1]:8484", "[::1]:8484"),
    ],
)
def test_our_own_pages_may_ask(origin, host):
    assert rules(extra=["home.example"]).allows_origin(origin, host)


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "http://localhost:3000", "https://localhost:8485",
     "chrome-extension://abc", "file://", "http://localhost:8484@evil.example",
     "http://localhost:bad", "ftp://localhost:8484", "http://127.0.0.1:8484"],
)  # fmt: skip
def test_pages_from_elsewhere_may_not(origin):
    assert not rules().allows_origin(origin, "localhost:8484")


def test_a_page_under_a_name_that_is_not_ours_may_not():
    assert not rules().allows_origin("http://evil.example:8484", "evil.example:8484")


def test_listed_pages_may():
    listed = rules(origins=["https://chat.example/", "chrome-extension://abc", "null"])

    for origin in (
        "https://chat.example",
        "HTTPS://CHAT.EXAMPLE",
        "chrome-extension://abc",
        "null",
    ):
        assert listed.allows_origin(origin, "localhost:8484")
