"""Server-sent events from bytes cut anywhere."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from homeai.desktop.sse import SseEvent, SseParser

STREAM = (
    b': homeai {"position":1}\n\nid: 7\nevent: error\ndata: {"a":1}\n\n'
    b"data: \xc3\xa4\ndata: second\n\ndata: [DONE]\r\n\r\n"
)
EVENTS = [
    SseEvent("comment", 'homeai {"position":1}'),
    SseEvent("error", '{"a":1}'),
    SseEvent("message", "ä\nsecond"),
    SseEvent("message", "[DONE]"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_events_do_not_depend_on_the_cuts(points):
    edges = sorted({0, len(STREAM), *points})
    parser = SseParser()

    seen = [e for a, b in pairwise(edges) for e in parser.feed(STREAM[a:b])]

    assert seen == EVENTS
