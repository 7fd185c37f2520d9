"""Finds grammars under which the native matcher's work explodes with the length of the text.

llama.cpp keeps every way in which the text so far can be read, and for each candidate token it walks
every way through the token. `x? x? x? …` or two recursive alternatives that begin alike make both numbers
explode. Whether a grammar does so is undecidable in general, so this plays the adversary: from every place
where two readings are possible it always takes the character that keeps the most readings alive, and counts.
"""

from __future__ import annotations

from homeai.structured.conflicts import Conflicts, ranges_of
from homeai.structured.gbnf_reader import grammar_error
from homeai.structured.grammar import Grammar
from homeai.structured.limits import Limits
from homeai.structured.matcher import Matcher, WorkExhausted

_TOKEN_CHARS = 16
"""Few tokens of any vocabulary are longer, except runs of one character."""
_RUN_CHARS = 64
"""Runs of one character (blanks, dashes) come as long tokens."""
_MAX_PATHS = 50_000
"""Ways through one token; 65,536 cost the native check of a whole vocabulary of 49,152 tokens 87 ms."""
_TEXT_CHARS = 300
_MAX_RUN_PATHS = 200_000
"""Ways through a run of one character; few tokens are such runs."""
_MAX_READINGS = 300
"""Readings of the same text kept at once, beyond those at the start."""
_ADVICE = "; let alternatives begin differently, and use {m,n} in place of many optional parts"
_TOO_MANY_READINGS = f"more than {_MAX_READINGS} readings of the same text go on at once"
_GIVEN_UP = "too many alternatives of the whole grammar begin alike"


def check(grammar: Grammar, text: str, limits: Limits) -> None:
    """Refuse explosive ambiguity.

    Args:
        grammar: A grammar without left recursion.
        text: For line and column.
        limits: `probe_work` bounds the time spent.

    Raises:
        InvalidSchema: Found, or the search had to be given up.
    """
    matcher = Matcher(grammar, limits.probe_work)
    try:
        _check_all(grammar, text, matcher)
    except WorkExhausted:
        raise grammar_error(text, 0, _GIVEN_UP + _ADVICE) from None


def _check_all(grammar: Grammar, text: str, matcher: Matcher) -> None:
    probed: list[frozenset[int]] = []
    for index, stacks in Conflicts(grammar, matcher).forks():
        tops = frozenset(stacks)
        matcher.spend(1 + len(probed))
        if any(tops <= other for other in probed):
            continue
        probed.append(tops)
        rule = grammar.rules[index]
        if problem := _paths(matcher, stacks) or _readings(matcher, stacks):
            raise grammar_error(text, rule.position, problem + _ADVICE, rule.name)


def _paths(matcher: Matcher, stacks: list[int]) -> str | None:
    """Count the ways through one token: any short text, or a long run of one character."""
    ways = run = dict.fromkeys(stacks, 1)
    run_char = _worst_char(matcher, ways, ahead=True, noise=0)
    for step in range(_RUN_CHARS):
        if run_char is not None:
            run = _step(matcher, run, run_char)
            if sum(run.values()) > _MAX_RUN_PATHS:
                return f"a run of one character can be read in more than {_MAX_RUN_PATHS} ways"
        if step < _TOKEN_CHARS:
            char = _worst_char(matcher, ways, ahead=True, noise=0)
            ways = {} if char is None else _step(matcher, ways, char)
            if sum(ways.values()) > _MAX_PATHS:
                return f"{_TOKEN_CHARS} characters can be read in more than {_MAX_PATHS} ways"
            if len(ways) > _MAX_READINGS + len(stacks):
                return _TOO_MANY_READINGS
        elif not run:
            break
    return None


def _readings(matcher: Matcher, stacks: list[int]) -> str | None:
    """Count how many readings of a longer text stay alive at once."""
    ways = dict.fromkeys(stacks, 1)
    noise = 1
    for _ in range(_TEXT_CHARS):
        # Among equals a changing choice is made; the same one each time would get stuck in blanks.
        noise = (noise * 1_103_515_245 + 12_345) % 2**31
        char = _worst_char(matcher, ways, ahead=False, noise=noise >> 8)
        if char is None:
            break
        ways = dict.fromkeys(_step(matcher, ways, char), 1)
        if len(ways) < 2:
            # What may begin from here on has a place of its own.
            break
        if len(ways) > _MAX_READINGS + len(stacks):
            return _TOO_MANY_READINGS
    return None


def _step(matcher: Matcher, ways: dict[int, int], char: int) -> dict[int, int]:
    following: dict[int, int] = {}
    matcher.spend(len(ways))
    for stack, count in ways.items():
        if any(low <= char <= high for low, high in ranges_of(matcher, stack)):
            for after in matcher.after(stack):
                matcher.spend(1)
                following[after] = following.get(after, 0) + count
    return following


def _worst_char(matcher: Matcher, ways: dict[int, int], *, ahead: bool, noise: int) -> int | None:
    """Return the character that keeps most readings alive, or with `ahead` leads to most.

    Of equals, the one that `noise` points to. None if no reading can go on.
    """
    events: list[tuple[int, int, int]] = []
    for stack, count in ways.items():
        ranges = ranges_of(matcher, stack)
        matcher.spend(len(ranges))
        if ranges:
            weight = count * len(matcher.after(stack)) if ahead else count
            # Bounds are inclusive, so ends sort after starts at the same character.
            events += [(low, 0, weight) for low, _ in ranges]
            events += [(high, 1, weight) for _, high in ranges]
    best = 0
    chars: list[int] = []
    alive = 0
    for position, end, weight in sorted(events):
        alive += -weight if end else weight
        if end or alive < best:
            continue
        if alive > best:
            best, chars = alive, []
        chars.append(position)
    return chars[noise % len(chars)] if chars else None
