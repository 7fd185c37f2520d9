"""Markdown that is shown piece by piece ends as if it had come whole."""

from __future__ import annotations

import random

import pytest
from PySide6.QtGui import QTextDocument

from homeai.desktop.streaming_markdown import FEATURES, StreamingMarkdown

BLOCKS = [
    "# Title",
    "Plain *text* with `code`.",
    "```python\nx = 1\n\ny = 2\n```",
    "- one\n- two\n\n- three",
    "1. first\n2. second",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "> quoted",
    "ä 😀 中文",
]


@pytest.mark.parametrize("seed", range(15))
def test_the_text_equals_the_whole_rendering(qapp, seed):
    rng = random.Random(seed)
    text = "\n\n".join(rng.choices(BLOCKS, k=8))
    streamed = QTextDocument()
    feed = StreamingMarkdown(streamed)
    at = 0
    while at < len(text):
        size = rng.randint(1, 12)
        feed.append(text[at : at + size])
        at += size
    feed.finish()

    whole = QTextDocument()
    whole.setMarkdown(text, FEATURES)
    assert feed.text == text
    assert streamed.toPlainText() == whole.toPlainText()


def test_sealed_text_is_laid_out_once(qapp):
    document = QTextDocument()
    feed = StreamingMarkdown(document)
    for _ in range(50):
        feed.append("A paragraph of some words.\n\n")

    assert feed._sealed > 0.9 * len(feed.text)
    assert document.toPlainText().count("A paragraph") == 50
