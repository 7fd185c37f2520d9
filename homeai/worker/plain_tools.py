"""Tools for models whose chat template knows none: told in words, in the form of the Hermes family."""

from __future__ import annotations

import json
from typing import Any

_INTRODUCTION = """You may call one or more functions to help with the user's request.

The functions, as JSON, one a line:
<tools>
{tools}
</tools>

To call a function, answer with its name and arguments as JSON within these tags, and nothing else:
<tool_call>
{{"name": "the name", "arguments": {{"argument": "value"}}}}
</tool_call>"""


def told_in_words(
    messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    """Return messages without tools, calls and results of their own: all of it is text.

    Args:
        messages: As `ChatPrompt.messages`.
        tools: As `ChatPrompt.tools`.
    """
    told = [_told(message) for message in messages]
    if not tools:
        return told
    lines = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    introduction = _INTRODUCTION.format(tools=lines)
    if told and told[0]["role"] == "system":
        first = {**told[0], "content": f"{told[0]['content']}\n\n{introduction}"}
        return [first, *told[1:]]
    return [{"role": "system", "content": introduction}, *told]


def _told(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        text = f"<tool_response>\n{message['content']}\n</tool_response>"
        return {"role": "user", "content": text}
    calls = message.get("tool_calls")
    if not calls:
        return message
    written = [
        f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        for call in calls
    ]
    content = [message["content"]] if message["content"] else []
    return {"role": message["role"], "content": "\n".join([*content, *written])}
