"""Chat templates are foreign programs: they cannot run long, grow large, or reach out."""

from datetime import UTC, datetime

import pytest

from homeai.domain.errors import BadRequest, ModelInvalid
from homeai.worker.template import ChatTemplate

NOW = datetime(2026, 12, 1, tzinfo=UTC)
MESSAGES = [{"role": "user", "content": "hi"}]


def render(source: str, **more) -> str:
    template = ChatTemplate(source, bos="<s>", eos="</s>")
    return template.render({"messages": MESSAGES, **more}, now=NOW, time_limit_s=0.3)


def test_messages_and_special_texts_are_at_hand():
    assert (
        render("{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}")
        == "<s>user:hi"
    )


def test_the_date_is_given_to_templates_that_ask():
    assert render("{{ strftime_now('%Y-%m-%d') }}") == "2026-12-01"


def test_json_is_written_without_html_escapes():
    assert render("{{ value | tojson }}", value={"a": "<ä>"}) == '{"a": "<ä>"}'


def test_an_endless_template_is_stopped():
    with pytest.raises(BadRequest, match=r"longer than 0\.3 s"):
        render("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 10000000000 }}",
        "{{ [1] * 10000000000 }}",
        "{{ 2 ** 99999999 }}",
        "{{ '%0999999999d' % 1 }}",
        "{{ 'a' | center(999999999) }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}",
    ],
)
def test_nothing_large_can_be_built(source):
    with pytest.raises(BadRequest):
        render(source)


def test_a_template_may_refuse_the_messages_in_its_own_words():
    with pytest.raises(BadRequest, match="roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__subclasses__() }}",
        "{{ messages.append(1) }}",
    ],
)
def test_the_sandbox_holds(source):
    try:
        shown = render(source)
    except BadRequest:
        return
    assert "class" not in shown


def test_a_broken_template_is_a_fault_of_the_model():
    with pytest.raises(ModelInvalid, match="cannot be used"):
        ChatTemplate("{% for %}")
