r"""Grammar texts that must pass the gate, with texts they allow and forbid, and texts that must not pass.

Many of those that must not pass hang, overflow or abort the native parser or matcher.
"""

from __future__ import annotations

JSON = r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws
string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
"""

ARITHMETIC = r"""
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"""

CHESS = r"""
# Specifies chess moves as a list in algebraic notation, using PGN conventions
root    ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move    ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn    ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle  ::= "O-O" "-O"?
"""

C_LIKE = r"""
root ::= (declaration)*
declaration ::= dataType identifier "(" parameter? ")" "{" statement* "}"
dataType  ::= "int" ws | "float" ws | "char" ws
identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= dataType identifier
statement ::=
    ( dataType identifier ws "=" ws expression ";" ) |
    ( identifier ws "=" ws expression ";" ) |
    ( identifier ws "(" argList? ")" ";" ) |
    ( "return" ws expression ";" ) |
    ( "while" "(" condition ")" "{" statement* "}" ) |
    ( singleLineComment )
condition ::= expression relationOperator expression
relationOperator ::= ("<=" | "<" | "==" | "!=" | ">=" | ">")
expression ::= term (("+" | "-") term)*
term ::= factor(("*" | "/") factor)*
factor ::= identifier | number | unaryTerm | funcCall | parenExpression
unaryTerm ::= "-" factor
funcCall ::= identifier "(" argList? ")"
parenExpression ::= "(" ws expression ws ")"
argList ::= expression ("," ws expression)*
number ::= [0-9]+
singleLineComment ::= "//" [^\n]* "\n"
ws ::= ([ \t\n]+)
"""

ACCEPTED: dict[str, tuple[str, list[str], list[str]]] = {
    "one string": ('root ::= "a"', ["a"], ["", "b", "aa"]),
    "nothing at all": ('root ::= ""', [""], ["a"]),
    "empty alternative": ('root ::= | "a"', ["", "a"], ["aa"]),
    "empty alternative at the end": ('root ::= "a" |', ["", "a"], []),
    "json": (JSON, ['{"a": [1, -2.5e1, "x\\n", null]}', "{}"], ["[]", '{"a":}', '{"a":01}x']),
    "arithmetic": (ARITHMETIC, ["a+(b*3)=x\n"], ["a+=1\n", "a=1"]),
    "chess": (CHESS, ["1. e4 e5\n2. Nf3 O-O\n"], ["1. e4 e5\n", "1. e9 e5\n"]),
    "c": (C_LIKE, ["", "int f(){x = y*2;}"], ["int f("]),
    "comments and line ends": ('# c\r\nroot ::= a # c\r\n\r\na ::= "x" | # c\n  "y"', ["x", "y"], ["xy"]),
    "names over lines in parentheses": ('root ::= ( a\n b )\na ::= "x"\nb ::= "y"', ["xy"], ["x"]),
    "escapes": (r'root ::= "\x41\u00e9\U0001F600\t\r\n\\\"\[\]\-"', ['Aé😀\t\r\n\\"[]-'], []),
    "class with a dash": ("root ::= [a-c-] [-x] [+-]", ["--+", "bx-"], ["dx+"]),
    "class with brackets": (r"root ::= [\[\]^]", ["[", "]", "^"], ["a"]),
    "negated class": (r"root ::= [^a-c\n]", ["d", "\t"], ["a", "\n"]),
    "any character": ("root ::= .", ["a", "日", "\n"], ["", "ab"]),
    "any characters": ("root ::= .*", ["", "abc"], []),
    "unicode": ("root ::= [ぁ-ゟ]+ \"日\"", ["あい日"], ["a日"]),
    "exact repetition": ('root ::= "a"{3}', ["aaa"], ["aa", "aaaa"]),
    "open repetition": ('root ::= "ab"{2,}', ["abab", "ababab"], ["ab"]),
    "bounded repetition": ('root ::= [a-b]{1,3}', ["a", "aba"], ["", "abab"]),
    "spaces in bounds": ('root ::= "a"{ 1 , 2 }', ["a", "aa"], ["aaa"]),
    "no repetition": ('root ::= "b" "a"{0}', ["b"], ["ba"]),
    "repetition of a repetition": ('root ::= "a"{2}{2}', ["aaaa"], ["aaa"]),
    "most repetitions": ('root ::= "a"{0,2000}', ["a" * 2000], ["a" * 2001]),
    "string repeated whole": ('root ::= "ab"+', ["abab"], ["abb"]),
    "nesting": ("root ::= " + "(" * 60 + '"a"' + ")" * 60, ["a"], []),
    "recursion to the right": ('root ::= "a" root | "b"', ["b", "aab"], ["a"]),
    "recursion in the middle": ('root ::= "(" root ")" | ""', ["", "(())"], ["(()"]),
    "unused rule": ('root ::= "a"\nother ::= "b"', ["a"], ["b"]),
    "some ambiguity": ('root ::= ("a" | "ab" | "b")* "c"', ["abc", "aabbc"], ["ac b"]),
    "long name": (f'root ::= {"n" * 200}\n{"n" * 200} ::= "x"', ["x"], []),
    "no line end": ('root ::= a\na ::= "x"', ["x"], []),
}  # fmt: skip

TOKENS = {
    "token by id": "root ::= <[5]> .*",
    "not a token": "root ::= !<[5]>",
    "thinking by ids": "root ::= <[1000]> thinking <[1001]> .*\nthinking ::= !<[1001]>*",
    "token by text": "root ::= <|im_start|> .*",
}
"""Pass the gate; what they match depends on the vocabulary."""


def _doubling(levels: int) -> str:
    rules = [f'r{n} ::= r{n + 1} "x" | r{n + 1} "y"' for n in range(levels)]
    return "\n".join(["root ::= r0", *rules, f'r{levels} ::= "z"'])


def _chain(rules: int) -> str:
    return "\n".join(
        ["root ::= r0", *(f"r{n} ::= r{n + 1}" for n in range(rules)), f'r{rules} ::= "z"']
    )


def _forks(rules: int) -> str:
    """Each rule may go on where what follows it begins alike: a quadratic number of such places."""
    lines = [f'r{n} ::= "a" (r{n + 1} | r{n + 1} "b")' for n in range(rules)]
    return "\n".join(["root ::= r0", *lines, f'r{rules} ::= "z"'])


def _open_ends(rules: int) -> str:
    lines = [f'r{n} ::= "a" r{n + 1}? "a"?' for n in range(rules)]
    return "\n".join(['root ::= "s" r0', *lines, f'r{rules} ::= "z"'])


REFUSED: dict[str, tuple[str, str]] = {
    "empty": ("", "no rule named root"),
    "only a comment": ("# nothing", "no rule named root"),
    "no root": ('start ::= "a"', "no rule named root"),
    "undefined rule": ('root ::= "a" b', '"b" is used but not defined'),
    "two definitions": ('root ::= "a"\nroot ::= "b"', "defined twice"),
    "no arrow": ('root = "a"', 'expected "::="'),
    "underscore in a name": ('ro_ot ::= "a"', 'expected "::="'),
    "two rules on a line": ('root ::= "a" b ::= "c"', "end of the line"),
    "stray parenthesis": ('root ::= "a")', "end of the line"),
    "open parenthesis": ('root ::= ("a"', 'expected ")"'),
    "open string": ('root ::= "a', "closing quote"),
    "open class": ("root ::= [a", "closing ]"),
    "empty class": ("root ::= []", "empty"),
    "empty negated class": ("root ::= [^]", "empty"),
    "class of nothing": (r"root ::= [^\x00-\U0010FFFF]", "every character"),
    "range upside down": ("root ::= [z-a]", "wrong order"),
    "open range": ("root ::= [a-", "expected a character"),
    "unknown escape": (r'root ::= "\d"', "unknown escape"),
    "short escape": (r'root ::= "\u12"', "4 hexadecimal"),
    "character that does not exist": (r'root ::= "\U00110000"', "U+10FFFF"),
    "backslash at the end": ('root ::= "\\', "unknown escape"),
    "repetition of nothing": ("root ::= *", "nothing before '*'"),
    "repetition after nothing left": ('root ::= "a"{0}*', "nothing before '*'"),
    "bounds upside down": ('root ::= "a"{5,3}', "wrong order"),
    "bounds without a number": ('root ::= "a"{,3}', "number of repetitions"),
    "open bounds": ('root ::= "a"{1', 'expected "}"'),
    "too many repetitions": ('root ::= "a"{2001}', "at most 2000"),
    "more repetitions than the engine keeps": ('root ::= "a"{0,5000}', "at most 2000"),
    "a number of repetitions without end": ('root ::= "a"{' + "9" * 5000 + "}", "too large"),
    "nested repetitions": ('root ::= (("a" "b"?){0,50}){50}', "at most 2000"),
    "repeated repetition": ('root ::= "a"{1000}{1000}', "at most 2000"),
    "a long string very often": ('root ::= "' + "a" * 1000 + '"{1000}', "20000 elements"),
    "many long repetitions": ("root ::= " + '"a"{0,2000} ' * 10, "20000 elements"),
    "parentheses without end": ("root ::= " + "(" * 60_000, "deeper than 64"),
    "left recursion": ('root ::= root "a" | "b"', "begin with itself"),
    "left recursion over rules": ('root ::= a\na ::= b "x"\nb ::= a | "y"', "begin with itself"),
    "left recursion behind an empty string": ('root ::= "" root "a" | "b"', "begin with itself"),
    "left recursion behind an empty rule": ('root ::= e root "a" | "b"\ne ::= f\nf ::= "x" | ""', "begin with itself"),
    "left recursion behind an optional part": ('root ::= "x"? root "a" | "b"', "begin with itself"),
    "rule that is itself": ("root ::= root", "begin with itself"),
    "repeated empty string": ('root ::= ("" | "a")*', "can be empty"),
    "repeated optional part": ('root ::= ("a"?)*', "can be empty"),
    "star of star": ('root ::= "a"**', "can be empty"),
    "repeated empty rule": ('root ::= e+\ne ::= f f\nf ::= "x"?', "can be empty"),
    "rules that begin in too many ways": (_doubling(40), "too many ways"),
    "long chain of rules": (_chain(1000), "begin with one another"),
    "very long chain of rules": (_chain(1990), "begin with one another"),
    "many optional parts": ("root ::= " + '"x"? ' * 60 + '"y"', "ways"),
    "many loops over the same": ("root ::= " + '"x"* ' * 8 + '"y"', "ways"),
    "two readings of every pair": ('root ::= ("a" | "a" "a")* "b"', "ways"),
    "two readings of every character": ('root ::= ("a" | [a-b])* "c"', "ways"),
    "optional recursion": ('root ::= "a" root{0,3}', "readings"),
    "many rules that begin alike": (_forks(1500), "begin alike"),
    "many rules that may go on alike": (_open_ends(1900), "begin alike"),
    "recursion with two readings": ('root ::= "a" root "b" | "a" root "c" | "d"', "readings"),
    "recursion with two readings after a while": (
        'root ::= "{k:" root "}" | "{k:" root ",b}" | "1"', "readings"),
    "NUL": ('root ::= "a\0"', "NUL"),
    "half a surrogate pair": ('root ::= "\ud800"', "surrogate"),
    "byte order mark": ('\ufeffroot ::= "a"', "name of a rule"),
    "too long": ("root ::= " + '"a" ' * 20_000, "65536"),
    "token after a character": ('root ::= "a" <[5]>', "token"),
    "token after an optional character": ("root ::= [a-z]* !<[5]>", "token"),
    "token after a rule of characters": ('root ::= a b\na ::= <[1]> "x"?\nb ::= <[2]>', "token"),
    "token id without end": ("root ::= <[" + "9" * 100 + "]>", "too large"),
    "open token": ("root ::= <think", "closing"),
    "open token id": ("root ::= <[5>", '"]>"'),
    "lone exclamation mark": ("root ::= !a", '"<"'),
}  # fmt: skip
"""Name → text and a part of the message."""
