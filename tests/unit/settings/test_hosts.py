"""What an address to listen on may look like."""

import pytest

from homeai.settings.hosts import is_loopback, parse_host


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1%eth0", "localhost", "müller-pc", "a.b.example."],
)
def test_addresses_and_names_are_accepted(host):
    assert parse_host(f" {host} ") == host


@pytest.mark.parametrize(
    "host",
    [
        "",
        "foo bar",
        "999.1.1.1",
        "0",
        "127.1",
        "-pc",
        "pc-",
        "a..b",
        "[::1]",
        "http://pc",
        "a" * 254,
    ],
)
def test_anything_else_is_refused(host):
    with pytest.raises(ValueError, match="IP address"):
        parse_host(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST."])
def test_loopback_is_recognised(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.2", "::ffff:127.0.0.1", "localhost.de"]
)
def test_what_others_can_reach_is_not_loopback(host):
    assert not is_loopback(host)
