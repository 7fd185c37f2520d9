"""The chat window: what a user sees and does."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QTextEdit, QWidget

from homeai.desktop.states import Look, Summary, summarise


def say(qtbot, window, text: str) -> None:
    qtbot.keyClicks(window.composer, text)
    qtbot.keyClick(window.composer, Qt.Key.Key_Return)


def shown(window) -> list[str]:
    return [view.text_view.toPlainText() for view in window.conversation._views]


def answered(qtbot, window) -> None:
    qtbot.waitUntil(lambda: window.send_button.isVisibleTo(window), timeout=5000)


def test_enter_sends_and_the_answer_is_rendered_as_markdown(qtbot, window, desktop_core):
    say(qtbot, window, "Hi there")
    answered(qtbot, window)

    assert shown(window) == ["Hi there", "Hello world"]
    assert desktop_core.asked[0]["messages"][1:] == [{"role": "user", "content": "Hi there"}]
    assert desktop_core.asked[0]["stream"] is True
    assert "Bearer token" in desktop_core.tokens


def test_shift_enter_breaks_the_line_instead(qtbot, window, desktop_core):
    qtbot.keyClicks(window.composer, "one")
    qtbot.keyClick(window.composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(window.composer, "two")

    assert window.composer.toPlainText() == "one\ntwo"
    assert desktop_core.asked == []


def test_the_whole_conversation_goes_along(qtbot, window, desktop_core):
    for text in ("first", "second"):
        say(qtbot, window, text)
        answered(qtbot, window)

    roles = [m["role"] for m in desktop_core.asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


def test_escape_stops_an_answer_and_keeps_what_came(qtbot, window, desktop_core):
    desktop_core.script = ["Part one. ", "Part two."]
    desktop_core.hold.clear()
    say(qtbot, window, "go")
    qtbot.waitUntil(lambda: "Part one" in shown(window)[-1])

    qtbot.keyClick(window, Qt.Key.Key_Escape)
    answered(qtbot, window)
    desktop_core.hold.set()

    assert shown(window)[-1].strip() == "Part one."
    assert window.conversation._views[-1]._note.text() == "Stopped."


def test_an_error_in_the_stream_is_told_and_the_part_stays(qtbot, window, desktop_core):
    desktop_core.script = ["Part. ", {"error": {"message": "The worker hung and was ended."}}]

    say(qtbot, window, "go")
    answered(qtbot, window)

    assert shown(window)[-1].strip() == "Part."
    assert window.conversation._views[-1]._note.text() == "The worker hung and was ended."


def test_a_cut_connection_is_told(qtbot, window, desktop_core):
    desktop_core.script = ["Part. ", None]

    say(qtbot, window, "go")
    answered(qtbot, window)

    assert "connection broke" in window.conversation._views[-1]._note.text()


def test_the_place_in_line_is_shown_until_text_comes(qtbot, window, desktop_core):
    desktop_core.script = [{"comment": {"event": "position", "position": 2}}, "Now."]
    desktop_core.hold.clear()
    say(qtbot, window, "go")

    qtbot.waitUntil(lambda: window.conversation._views[-1]._note.text() == "Waiting: 2 ahead")
    desktop_core.hold.set()
    answered(qtbot, window)

    assert shown(window)[-1].strip() == "Now."


def test_a_failed_gpu_is_told_with_the_estimate_until_the_cpu_writes(qtbot, window, desktop_core):
    told = {"event": "degraded", "reason": "crashed", "device": "cpu", "estimate_ms": {"p50": 4200}}
    desktop_core.script = ["Half ", {"comment": told}, "an answer."]
    desktop_core.hold.clear()
    say(qtbot, window, "go")

    qtbot.waitUntil(lambda: "needs about 4 s" in window.conversation._views[-1]._note.text())
    desktop_core.hold.set()
    answered(qtbot, window)

    assert shown(window)[-1].strip() == "Half an answer."


def test_a_failed_engine_on_a_computer_without_gpu_is_not_called_a_gpu(qtbot, window, desktop_core):
    told = {"event": "degraded", "failed": "cpu", "device": "cpu", "estimate_ms": {"p50": 4200}}
    desktop_core.script = ["Half ", {"comment": told}, "an answer."]
    desktop_core.hold.clear()
    say(qtbot, window, "go")

    def note() -> str:
        return window.conversation._views[-1]._note.text()

    qtbot.waitUntil(lambda: "needs about 4 s" in note())
    assert "GPU" not in note()
    desktop_core.hold.set()
    answered(qtbot, window)


def test_a_degraded_service_says_so_and_still_takes_messages(window):
    status = {
        "state": "degraded",
        "degraded": {"reason": "crashed"},
        "model": {"name": "M"},
        "queue": {"running": 0},
    }
    window.show_summary(summarise(status))

    assert window.state_label.text() == "Degraded: CPU · M"
    assert window.send_button.isEnabled()


def test_raw_html_and_images_in_answers_are_only_text(qtbot, window, desktop_core):
    desktop_core.script = ["<script>x</script> ![p](http://example.invalid/a.png) after"]

    say(qtbot, window, "go")
    answered(qtbot, window)

    assert "<script>" in shown(window)[-1]
    assert "after" in shown(window)[-1]


def test_a_draft_stays_while_the_service_is_away(qtbot, window):
    qtbot.keyClicks(window.composer, "my draft")
    window.show_summary(Summary(Look.STOPPED))

    qtbot.keyClick(window.composer, Qt.Key.Key_Return)

    assert window.composer.toPlainText() == "my draft"
    assert not window.send_button.isEnabled()


def test_states_are_said_in_words(window):
    said = {}
    for summary in (
        Summary(Look.STOPPED),
        Summary(Look.LOADING, "M", 0.4),
        Summary(Look.IDLE, "M"),
        Summary(Look.ERROR, problem="No model."),
    ):
        window.show_summary(summary)
        said[summary.look] = window.state_label.text()

    assert said == {
        Look.STOPPED: "The service is not running",
        Look.LOADING: "Loading the model: 40 %",
        Look.IDLE: "Ready · M",
        Look.ERROR: "No model.",
    }


def test_a_tiny_model_is_called_tiny(window):
    assert "tiny starter model" in window.tiny_label.text()
    assert window.tiny_label.isVisibleTo(window)


def test_closing_only_hides_where_a_tray_can_bring_it_back(window):
    window.close()

    assert not window.isVisible()
    window.bring_to_front()
    assert window.isVisible()


def test_quitting_closes_even_a_window_that_hides(window):
    window.is_quitting = True

    assert window.close()


def test_a_new_conversation_starts_empty(qtbot, window, desktop_core):
    say(qtbot, window, "old")
    answered(qtbot, window)

    qtbot.mouseClick(window.new_button, Qt.MouseButton.LeftButton)
    say(qtbot, window, "new")
    answered(qtbot, window)

    assert [m["content"] for m in desktop_core.asked[-1]["messages"][1:]] == ["new"]


def test_an_answer_can_be_copied_as_markdown(qtbot, window):
    say(qtbot, window, "hi")
    answered(qtbot, window)

    qtbot.mouseClick(window.conversation._views[-1]._copy, Qt.MouseButton.LeftButton)

    assert QGuiApplication.clipboard().text() == "Hello **world**"


def test_every_control_has_a_name_for_screen_readers(qtbot, window):
    say(qtbot, window, "hi")
    answered(qtbot, window)

    unnamed = [
        type(widget).__name__
        for widget in window.findChildren(QWidget)
        if isinstance(widget, QAbstractButton | QTextEdit | QPlainTextEdit)
        and not widget.objectName().startswith("qt_")
        and not _name(widget)
    ]
    assert unnamed == []


def _name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name).strip() if interface else ""


CODE = """Here is a function:

```python
def add(a, b):
    # sum of both
    return a + b
```

| a | b |
|---|---|
| 1 | 2 |
"""


def test_pictures_of_the_window_in_both_palettes(qtbot, window, desktop_core, themed, shot):
    desktop_core.script = [CODE[:40], CODE[40:]]
    say(qtbot, window, "Write a function")
    answered(qtbot, window)

    assert shot(window, f"chat-{themed}").stat().st_size > 5000


def test_the_window_speaks_german(qtbot, german, desktop_core, shot):
    from homeai.desktop.chat_window import ChatWindow
    from homeai.desktop.client import CoreClient

    window = ChatWindow(CoreClient(), hides_on_close=False)
    qtbot.addWidget(window)
    window.show_summary(Summary(Look.LOADING, "M", 0.4, tiny=True))
    window.show()

    assert window.state_label.text() == "Modell wird geladen: 40 %"
    assert window.send_button.text() == "Senden"
    assert window.new_button.width() >= window.new_button.sizeHint().width()
    shot(window, "chat-german")
