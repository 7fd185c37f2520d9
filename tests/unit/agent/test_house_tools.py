"""The notebook: one line a note, one file a client, nothing half done."""

from __future__ import annotations

import pytest

from homeai.agent.house_tools import MOST_CHARS, Notebook, house_tools
from homeai.agent.tool import ToolFailed
from homeai.journal.effects import Kind


async def test_notes_come_back_in_order(tmp_path):
    book = Notebook(tmp_path / "notes")

    assert (await book.write({"text": "Käse\nkaufen"}, "anna"))["notes"] == 1
    assert (await book.write({"text": "🙂"}, "anna"))["notes"] == 2

    lines = await book.read({}, "anna")
    assert [line.split(" ", 1)[1] for line in lines] == ["Käse kaufen", "🙂"]


async def test_each_client_has_a_notebook_of_its_own(tmp_path):
    book = Notebook(tmp_path)
    await book.write({"text": "mine"}, "../anna/..")
    await book.write({"text": "ours"}, "local:1234")

    assert await book.read({}, "ben") == []
    assert len(await book.read({}, "local:9999")) == 1
    assert all(file.parent == tmp_path for file in tmp_path.rglob("*"))


@pytest.mark.parametrize("text", ["", "   ", "a" * (MOST_CHARS + 1), None])
async def test_a_note_that_cannot_be_kept_is_refused_in_words(tmp_path, text):
    arguments = {} if text is None else {"text": text}
    with pytest.raises(ToolFailed, match="characters"):
        await Notebook(tmp_path / "notes").write(arguments, "anna")

    assert not (tmp_path / "notes").exists()


async def test_a_notebook_that_cannot_be_opened_is_a_failure_in_words(tmp_path):
    (tmp_path / "notes").write_text("a file in the folder's place")

    with pytest.raises(ToolFailed, match="cannot be opened"):
        await Notebook(tmp_path / "notes").write({"text": "hello"}, "anna")


async def test_the_house_has_its_tools(tmp_path):
    box = house_tools(tmp_path)

    assert {tool.name: tool.kind for tool in box.all()} == {
        "current_time": Kind.PURE,
        "write_note": Kind.IRREVERSIBLE,
        "read_notes": Kind.PURE,
    }
    assert ":" in await box.get("current_time").act({}, "anna")
