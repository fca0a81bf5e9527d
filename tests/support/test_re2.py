"""RE2's patterns as those of Python."""

from __future__ import annotations

import pytest

from tvm.support.re2 import PatternError, compiled


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"a\z", "a", "a\n"), (r"(a|b\n)$", "b\n", "b"), (r"a$\n", None, "a\n"),
        (r"\Qa.b\E+", "a.bb", "axb"), (r"[[:digit:]x]+", "1x", "y"), (r"[[:^digit:]]", "y", "1"),
        (r"\d", "1", "\u0663"), (r"\p{Lu}\pN", "\u00c91", "a1"), (r"\P{L}", "1", "a"),
        (r"[^\pL]", "1", "\u00e9"), (r"\x{1F600}", "\U0001f600", "x"), (r"(?i)ab", "aB", "b"),
        (r"a(?i)b|c", "C", "Ab"),
        (r"(a(?i)b|c)d", "Cd", "cD"), (r"(?i)a(?-i)b", "Ab", "aB"),
        (r"(?P<name>a)(?:b)", "ab", "a"), (r"(?U)a+", "aa", "b"),
        (r"(?m)a$\nb", "a\nb", "ab"), (r"[]a]", "]", "b"), (r"[^]a]", "b", "]"), (r"[a$]", "$", ""),
        (r"(?s:.)", "\n", ""), (".", "x", "\n"), (r"\pN{2}", "12", "1"),
    ],
)  # fmt: skip
def test_patterns(pattern: str, yes: str | None, no: str) -> None:
    assert yes is None or compiled(pattern).fullmatch(yes)
    assert not compiled(pattern).fullmatch(no)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(a)\1", "a reference back"), ("(?=a)", "no look-around"), ("(?<!a)b", "no look-around"),
        ("(?>a)", "no look-around"), ("a*+", "two repetitions in a row"), ("(", "unterminated"),
        (r"\p{Greek}", "no scripts"), ("[[:word:][:nope:]]", "legal: alnum"),
        (r"\C", "single byte"),
    ],
)  # fmt: skip
def test_refused(pattern: str, words: str) -> None:
    with pytest.raises(PatternError, match=words):
        compiled(pattern)
