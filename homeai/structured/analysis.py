"""Finds what makes the native grammar code hang, overflow or abort, in a grammar it would accept.

The native check for left recursion knows a rule as empty only if it has an empty alternative of its own;
recursion hidden behind other empty rules passes it and then loops for ever. It also walks shared rules
again and again (exponential time), and it recurses. Everything here is linear in the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeai.structured.gbnf_reader import grammar_error
from homeai.structured.grammar import Alternative, Grammar, Ref, Token
from homeai.structured.limits import Limits


def check(grammar: Grammar, text: str, limits: Limits) -> None:
    """Refuse what native code cannot survive.

    Args:
        grammar: The parsed `text`.
        text: For line and column in errors.
        limits: Bounds.

    Raises:
        InvalidSchema: Left recursion, a loop over nothing, rules that begin too many ways, or a token
            element after characters.
    """
    empty = nullable(grammar)
    order = _by_start(grammar, empty, text)
    _check_starts(grammar, empty, order, text, limits)
    _check_tokens(grammar, empty, order, text)


def nullable(grammar: Grammar) -> list[bool]:
    """Return for each rule whether it can be the empty string."""
    return _derivable(grammar, with_terminals=False)


def productive(grammar: Grammar) -> list[bool]:
    """Return for each rule whether it can ever come to an end."""
    return _derivable(grammar, with_terminals=True)


def _derivable(grammar: Grammar, *, with_terminals: bool) -> list[bool]:
    """Least fixpoint: a rule holds if all items of one alternative hold. Linear in the grammar."""
    holds = [False] * len(grammar.rules)
    missing: list[int] = []
    owner: list[int] = []
    users: list[list[int]] = [[] for _ in grammar.rules]
    todo: list[int] = []
    for index, rule in enumerate(grammar.rules):
        for alternative in rule.alternatives:
            refs = [item.rule for item in alternative if isinstance(item, Ref)]
            if len(refs) < len(alternative) and not with_terminals:
                continue
            for ref in refs:
                users[ref].append(len(missing))
            owner.append(index)
            missing.append(len(refs))
            if not refs:
                todo.append(index)
    while todo:
        index = todo.pop()
        if holds[index]:
            continue
        holds[index] = True
        for user in users[index]:
            missing[user] -= 1
            if missing[user] == 0:
                todo.append(owner[user])
    return holds


def _starts(alternative: Alternative, empty: list[bool]) -> Iterator[int]:
    """Yield the rules that may stand at the very start of `alternative`."""
    for item in alternative:
        if not isinstance(item, Ref):
            return
        yield item.rule
        if not empty[item.rule]:
            return


def _by_start(grammar: Grammar, empty: list[bool], text: str) -> list[int]:
    """Return the rules ordered so that each comes after all rules that may stand at its start."""
    starts = [
        [ref for alternative in rule.alternatives for ref in _starts(alternative, empty)]
        for rule in grammar.rules
    ]
    order: list[int] = []
    state = [0] * len(grammar.rules)  # 1 = on the path, 2 = done
    for first in range(len(grammar.rules)):
        if state[first]:
            continue
        state[first] = 1
        path = [(first, iter(starts[first]))]
        while path:
            index, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[index] = 2
                order.append(index)
                path.pop()
            elif state[following] == 1:
                rules = [step for step, _ in path]
                _refuse_cycle(grammar, rules[rules.index(following) :], text)
            elif state[following] == 0:
                state[following] = 1
                path.append((following, iter(starts[following])))
    return order


def _refuse_cycle(grammar: Grammar, cycle: list[int], text: str) -> None:
    named = [grammar.rules[index] for index in cycle if not grammar.rules[index].made]
    if not named:
        first = grammar.rules[cycle[0]]
        problem = "this repeats something that can be empty"
        raise grammar_error(text, first.position, problem, first.name)
    names = [rule.name[:40] for rule in named[:8]]
    raise grammar_error(
        text,
        named[0].position,
        f"this can begin with itself ({' → '.join([*names, names[0]])}); "
        "let every round begin with a character, or repeat with * or +",
        named[0].name,
    )


def _check_starts(
    grammar: Grammar, empty: list[bool], order: list[int], text: str, limits: Limits
) -> None:
    depth = [0] * len(grammar.rules)
    work = [0] * len(grammar.rules)
    openings = [0] * len(grammar.rules)
    total = 0
    for index in order:
        rule = grammar.rules[index]
        refs = [ref for alternative in rule.alternatives for ref in _starts(alternative, empty)]
        depth[index] = 1 + max((depth[ref] for ref in refs), default=0)
        work[index] = rule.weight + sum(work[ref] for ref in refs)
        total += work[index]
        if depth[index] > limits.start_depth:
            raise grammar_error(
                text,
                rule.position,
                f"more than {limits.start_depth} rules or optional parts begin with one another",
                rule.name,
            )
        # Checked at each rule, so that the numbers stay small.
        if total > limits.start_work:
            raise grammar_error(text, rule.position, "this can begin in too many ways", rule.name)
        openings[index] = sum(
            _openings(alternative, empty, openings)[0] for alternative in rule.alternatives
        )
    for rule in grammar.rules:
        for alternative in rule.alternatives:
            most = max(_openings(alternative, empty, openings), default=0)
            if most > limits.openings:
                raise grammar_error(
                    text,
                    rule.position,
                    f"the text can go on in {most} ways at one place; at most {limits.openings} are "
                    "allowed",
                    rule.name,
                )


def _openings(alternative: Alternative, empty: list[bool], openings: list[int]) -> list[int]:
    """Return for each position how many items a matcher there may wait for at once."""
    result = [0] * max(1, len(alternative))
    after = 0
    for position in range(len(alternative) - 1, -1, -1):
        item = alternative[position]
        if isinstance(item, Ref):
            after = openings[item.rule] + (after if empty[item.rule] else 0)
        else:
            after = 1
        result[position] = after
    return result


def _check_tokens(grammar: Grammar, empty: list[bool], order: list[int], text: str) -> None:
    """Refuse a token element where a character element may come before it.

    One token of the vocabulary may hold the character and more. llama.cpp lets it pass there when it
    checks candidates, and aborts the process when the token is taken.
    """
    if not any(isinstance(i, Token) for r in grammar.rules for a in r.alternatives for i in a):
        return
    starts_token = [False] * len(grammar.rules)
    for index in order:
        starts_token[index] = any(
            _starts_with_token(alternative, empty, starts_token)
            for alternative in grammar.rules[index].alternatives
        )
    ends_char = _ends_with_char(grammar, empty)
    for rule in grammar.rules:
        for alternative in rule.alternatives:
            for position, item in enumerate(alternative):
                char = (
                    ends_char[item.rule] if isinstance(item, Ref) else not isinstance(item, Token)
                )
                if char and _starts_with_token(alternative[position + 1 :], empty, starts_token):
                    raise grammar_error(
                        text,
                        rule.position,
                        "a token (<…>) follows characters; the engine can match tokens only at the "
                        "start or after other tokens",
                        rule.name,
                    )


def _starts_with_token(
    alternative: Alternative, empty: list[bool], starts_token: list[bool]
) -> bool:
    for item in alternative:
        if not isinstance(item, Ref):
            return isinstance(item, Token)
        if starts_token[item.rule]:
            return True
        if not empty[item.rule]:
            return False
    return False


def _ends_with_char(grammar: Grammar, empty: list[bool]) -> list[bool]:
    """Return for each rule whether its last element can be a character."""
    result = [False] * len(grammar.rules)
    users: list[list[int]] = [[] for _ in grammar.rules]
    todo: list[int] = []
    for index, rule in enumerate(grammar.rules):
        for alternative in rule.alternatives:
            for item in reversed(alternative):
                if not isinstance(item, Ref):
                    if not isinstance(item, Token):
                        todo.append(index)
                    break
                users[item.rule].append(index)
                if not empty[item.rule]:
                    break
    while todo:
        index = todo.pop()
        if not result[index]:
            result[index] = True
            todo.extend(users[index])
    return result
