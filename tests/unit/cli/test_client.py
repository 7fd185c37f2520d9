"""The HTTP client of the commands."""

import pytest

from homeai.cli.client import Core, CoreRefused, CoreUnreachable
from tests.fakes.answering_core import DONE, ENDLESS, TOKEN, chunk


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "http://[::", "http://h:x", "http://127.0.0.1:1"]
)
def test_an_address_where_nobody_can_answer_is_unreachable(url):
    with pytest.raises(CoreUnreachable):
        Core(url, "t").get("/live")


def test_events_come_one_by_one_and_comments_are_skipped(core):
    core.answers(b": hello\n\n", chunk("a"), b"event: x\n", chunk("b"), DONE)

    events = list(Core(core.url, TOKEN).stream("/v1/chat/completions", {}))

    assert [event["choices"][0]["delta"]["content"] for event in events] == ["a", "b"]


def test_closing_the_stream_ends_the_connection(core):
    core.answers(chunk("a"), ENDLESS)
    events = Core(core.url, TOKEN).stream("/v1/chat/completions", {})
    next(events)

    events.close()

    assert core.disconnected.wait(30)


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: 5\n\n", b"data: \xff\n\n"])
def test_an_event_that_is_no_object_is_refused(core, data):
    core.answers(data)

    with pytest.raises(CoreRefused, match="not homeai"):
        list(Core(core.url, TOKEN).stream("/", {}))


@pytest.mark.parametrize("error", [b'"x"', b"{}", b"null", b'{"message": "why"}'])
def test_an_error_of_any_shape_within_the_stream_is_an_error(core, error):
    core.answers(b'data: {"error": ' + error + b"}\n\n")

    with pytest.raises(CoreRefused):
        list(Core(core.url, TOKEN).stream("/", {}))
