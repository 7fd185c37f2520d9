"""Prompts of a given length in tokens, each one different, the same ones for every server."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Plain words; those that are one token each in the model's vocabulary are used.
_WORDS = """
the of and to in is that was for on are with as his they at be this from have or by one had not but
what all were when we there can an your which their said if do will each about how up out them then
she many some so these would other into has more her two like him see time could no make than first
been its who now people my made over did down only way find use may water long little very after
words called just where most know get through back much before go good new write our used me man too
any day same right look think also around another came come work three word must because does part
even place well such here take why things help put years different away again off went old number
great tell men say small every found still between name should home big give air line set own under
read last never us left end along while might next sound below saw something thought both few those
always looked show large often together asked house world going want school important until form food
keep children feet land side without boy once animals life enough took sometimes four head above kind
began almost live page got earth need far hand high year mother light parts country father let night
following picture being study second eyes soon times story boys since white days ever paper hard near
sentence better best across during today others however sure means knew try told young miles sun ways
thing whole hear example heard several change answer room sea against top turned learn point city play
toward five using himself usually money seen car morning given order red door become whether question
true rain music river book green stone winter garden bread table window engine road mountain voice
"""


_SILENT = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the workload needs to know of a model's vocabulary.

    Attributes:
        end_ids: Tokens that would end an answer; banned, so that every answer has its full length.
        words: Words that are one token each when a blank stands before them.
        start_tokens: Tokens that the tokenizer puts before every text (0 or 1).
    """

    end_ids: tuple[int, ...]
    words: tuple[str, ...]
    start_tokens: int


def read_vocabulary(model: Path) -> Vocabulary:
    """Read a model's vocabulary; the weights stay on the disk.

    Raises:
        ValueError: The file is no model, or fewer than 100 of the words are single tokens.
    """
    import llama_cpp

    llama_cpp.llama_log_set(_SILENT, None)
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    handle = llama_cpp.llama_model_load_from_file(str(model).encode(), params)
    if not handle:
        msg = f"{model.name} is no model that the installed llama.cpp can read"
        raise ValueError(msg)
    try:
        vocab = llama_cpp.llama_model_get_vocab(handle)
        size = llama_cpp.llama_vocab_n_tokens(vocab)
        ends = [i for i in range(size) if llama_cpp.llama_vocab_is_eog(vocab, i)]
        words = [w for w in _WORDS.split() if _length(vocab, f" {w}", special=False) == 1]
        start = _length(vocab, " the", special=True) - _length(vocab, " the", special=False)
    finally:
        llama_cpp.llama_model_free(handle)
    if len(words) < 100:
        msg = f"only {len(words)} of {len(_WORDS)} words are single tokens in this vocabulary"
        raise ValueError(msg)
    return Vocabulary(tuple(ends), tuple(sorted(set(words))), start)


def _length(vocab: Any, text: str, *, special: bool) -> int:
    """Tokens of a text; `special` with the tokens that the tokenizer puts around it."""
    import llama_cpp

    data = text.encode()
    room = (llama_cpp.llama_token * (len(data) + 2))()
    return int(llama_cpp.llama_tokenize(vocab, data, len(data), room, len(room), special, False))


def text_of(vocabulary: Vocabulary, tokens: int, seed: str) -> str:
    """Return a text of exactly `tokens` tokens, start token included, decided by `seed` alone.

    Two seeds differ from the first word on with great probability, so no prefix cache can help.
    """
    # reproducible on purpose, nothing secret
    chosen = random.Random(seed).choices(vocabulary.words, k=tokens - vocabulary.start_tokens)
    return "".join(f" {word}" for word in chosen)
