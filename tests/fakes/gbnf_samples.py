"""Draws texts from a grammar."""

from __future__ import annotations

import random

from homeai.structured.grammar import Chars, Grammar, Ref


def heights(grammar: Grammar) -> list[float]:
    """Return for each rule the least depth of a derivation that ends."""
    found = [float("inf")] * len(grammar.rules)
    changed = True
    while changed:
        changed = False
        for index, rule in enumerate(grammar.rules):
            for alternative in rule.alternatives:
                height = 1 + max(
                    (found[i.rule] for i in alternative if isinstance(i, Ref)), default=0
                )
                if height < found[index]:
                    found[index], changed = height, True
    return found


def sample(grammar: Grammar, least: list[float], chance: random.Random, choices: int = 150) -> str:
    """Return one text; after `choices` free choices it takes the shortest way to the end."""
    text: list[str] = []
    todo = [Ref(grammar.root)]
    while todo:
        item = todo.pop()
        if isinstance(item, Chars):
            text.append(_char(item, chance))
        elif isinstance(item, Ref):
            alternatives = grammar.rules[item.rule].alternatives
            choices -= len(alternatives) > 1
            if choices > 0:
                chosen = chance.choice(alternatives)
            else:
                chosen = min(
                    alternatives,
                    key=lambda a: max((least[i.rule] for i in a if isinstance(i, Ref)), default=0),
                )
            todo.extend(reversed(chosen))
    return "".join(text)


def _char(item: Chars, chance: random.Random) -> str:
    low, high = chance.choice(item.ranges)
    code = chance.choice((low, high, chance.randint(low, min(high, low + 60))))
    # A negated class holds the surrogates too, but no text does.
    return "\u00e9" if 0xD800 <= code <= 0xDFFF else chr(code)
