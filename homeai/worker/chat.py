"""From chat messages to token ids, by the model's own template."""

from __future__ import annotations

from datetime import datetime

from homeai.domain.errors import BadRequest, HomeAIError, ModelInvalid
from homeai.domain.request import ChatPrompt
from homeai.worker.llama.model import Model
from homeai.worker.plain_tools import told_in_words
from homeai.worker.prompting import ControlTexts, choose_mark, tokenize_segments
from homeai.worker.template import ChatTemplate

TEMPLATE_KEY = "tokenizer.chat_template"


class ChatPrompting:
    """Template and control tokens of one model.

    Args:
        model: Vocabulary and metadata. Without a usable template only chat is refused.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._control = ControlTexts(model.control_texts)
        self._template: ChatTemplate | None = None
        self._problem: HomeAIError | None = None
        source = model.metadata(TEMPLATE_KEY)
        self._knows_tools = "tools" in (source or "")
        if source is None:
            self._problem = BadRequest(
                "This model has no chat template; use /v1/completions, or a chat model.",
                param="model",
            )
            return
        bos, eos = self._text(model.bos), self._text(model.eos)
        try:
            self._template = ChatTemplate(source, bos=bos, eos=eos)
        except ModelInvalid as error:
            self._problem = BadRequest(f"{error.message} Use /v1/completions.", param="model")

    def _text(self, token: int | None) -> str:
        return "" if token is None else self._model.piece(token, special=True).decode()

    def ids(self, prompt: ChatPrompt) -> list[int]:
        """Return the prompt's token ids, ending where the answer begins.

        Raises:
            BadRequest: No template, or it refused the messages.
        """
        if self._template is None:
            raise self._problem or BadRequest("This model has no chat template.", param="model")
        messages, tools = prompt.messages, prompt.tools
        if not self._knows_tools:
            messages, tools = told_in_words(messages, tools), None
        try:
            mark = choose_mark(messages, tools, prompt.template_args)
        except ValueError as error:
            raise BadRequest(f"The messages cannot be used: {error}.", param="messages") from error
        variables = {
            **self._control.guard(prompt.template_args, mark),
            "messages": self._control.guard(messages, mark),
            "add_generation_prompt": True,
        }
        if tools:
            variables["tools"] = self._control.guard(tools, mark)
        # local time: templates tell the model today's date where its user lives
        rendered = self._template.render(variables, now=datetime.now().astimezone())
        ids = tokenize_segments(self._control.segments(rendered, mark), self._model.tokenize)
        bos = self._model.bos
        if self._model.adds_bos and bos is not None and ids[:1] != [bos]:
            ids.insert(0, bos)
        return ids
