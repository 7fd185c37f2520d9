"""Asks llama.cpp itself about grammars. Run as a program, so that a crash is an exit status.

Arguments: a model file (only its vocabulary is loaded). Input: one JSON object a line with `grammar` and
`texts`. Output: one line for each, `{"taken": bool, "accepted": [bool, …]}`, in which `accepted` tells for
each text whether the grammar allows exactly it, walked through token by token.
"""

from __future__ import annotations

import ctypes
import json
import sys

import llama_cpp.llama_cpp as lib  # noqa: TID253 - a program of its own, never imported


class Vocabulary:
    def __init__(self, path: str) -> None:
        params = lib.llama_model_default_params()
        params.vocab_only = True
        self.model = lib.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            sys.exit("the model could not be loaded")
        self.handle = lib.llama_model_get_vocab(self.model)
        self.end = lib.llama_vocab_eos(self.handle)

    def tokens(self, text: str) -> list[int]:
        data = text.encode()
        buffer = (lib.llama_token * (len(data) + 8))()
        count = lib.llama_tokenize(self.handle, data, len(data), buffer, len(buffer), False, False)
        return list(buffer[:count])


def allows(sampler, token: int) -> bool:
    one = (lib.llama_token_data * 1)(lib.llama_token_data(id=token, logit=0.0, p=0.0))
    array = lib.llama_token_data_array(data=one, size=1, selected=-1, sorted=False)
    lib.llama_sampler_apply(sampler, ctypes.byref(array))
    return one[0].logit > -1e30


def walks(vocabulary: Vocabulary, grammar: bytes, text: str) -> bool:
    sampler = lib.llama_sampler_init_grammar(vocabulary.handle, grammar, b"root")
    try:
        for token in vocabulary.tokens(text):
            if not allows(sampler, token):
                return False
            lib.llama_sampler_accept(sampler, token)
        return allows(sampler, vocabulary.end)
    finally:
        lib.llama_sampler_free(sampler)


def main() -> None:
    quiet = lib.llama_log_callback(lambda *_: None)
    lib.llama_log_set(quiet, None)
    vocabulary = Vocabulary(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        grammar = job["grammar"].encode()
        sampler = lib.llama_sampler_init_grammar(vocabulary.handle, grammar, b"root")
        if sampler:
            lib.llama_sampler_free(sampler)
        accepted = [bool(sampler) and walks(vocabulary, grammar, text) for text in job["texts"]]
        print(json.dumps({"taken": bool(sampler), "accepted": accepted}), flush=True)


if __name__ == "__main__":
    main()
