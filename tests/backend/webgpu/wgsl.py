"""The grammar of the part of WGSL that the backend writes: every text has to be read by it.

It reads declarations, statements and expressions, checks that each name is declared before it is
used, and that calls are of functions that the language or the file has (W3C, WebGPU Shading
Language, sections 3 to 9).
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

_TOKENS: Final = re.compile(
    r"\s*(?:(0x[0-9a-f]+u|\d+\.\d+(?:e[+-]\d+)?[fh]?|\d+[iu]?)|([A-Za-z_]\w*)"
    r"|(->|&&|\|\||<<|>>|<=|>=|==|!=|[-+*/%&|^!~<>=(){}\[\],;:.@]))"
)
_SCALARS: Final = {"bool", "i32", "u32", "f32", "f16"}
_BUILTIN: Final = {
    "select", "min", "max", "abs", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt",
    "inverseSqrt", "floor", "ceil", "round", "trunc", "pow", "fma", "countOneBits",
    "countLeadingZeros", "extractBits", "workgroupBarrier", "atomicAdd", "atomicAnd", "atomicLoad",
    "atomicOr", "atomicStore", "bitcast", "all", "any",
    "vec2", "vec3", "vec4", "array", *_SCALARS,
}  # fmt: skip
_OPERATORS: Final = "+ - * / % & | ^ && || << >> < > <= >= == !="
_BINARY: Final = frozenset(_OPERATORS.split())
_SPACES: Final = ("storage", "workgroup", "uniform", "read", "read_write", ",", ">")


class Reader:
    """Reads a file; AssertionError with the place where it is not WGSL."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while place < len(text.rstrip()):
            found = _TOKENS.match(text, place)
            assert found is not None, f"no token: {text[place : place + 40]!r}"
            self.tokens.append(found[0].strip())
            place = found.end()
        self.at = 0
        self.scopes: list[set[str]] = [set(_BUILTIN)]
        self.kernels: list[str] = []

    def module(self) -> list[str]:
        """The whole file; the names of its entry points."""
        while self.at < len(self.tokens):
            self._declaration()
        return self.kernels

    # --- tokens ---

    def _fail(self, wanted: str) -> NoReturn:
        raise AssertionError(f"{wanted} at: {' '.join(self.tokens[self.at : self.at + 12])}")

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, *words: str) -> str:
        token = self._peek()
        if words and token not in words:
            self._fail(" or ".join(words))
        self.at += 1
        return token

    def _name(self) -> str:
        token = self._take()
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            self._fail("a name")
        return token

    def _define(self, name: str) -> None:
        assert name not in self.scopes[-1], f"{name} is declared twice"
        self.scopes[-1].add(name)

    # --- declarations ---

    def _declaration(self) -> None:
        entry = False
        while self._peek() == "@":
            self._take("@")
            entry |= self._name() == "compute"
            if self._peek() == "(":
                while self._take() != ")":
                    pass
        word = self._take("enable", "struct", "var", "fn")
        if word == "enable":
            self._take("f16")
            self._take(";")
        elif word == "struct":
            self._define(self._name())
            self._fields("{", "}")
        elif word == "var":
            self._variable()
        else:
            self._function(entry)

    def _fields(self, begin: str, end: str) -> list[str]:
        found = []
        self._take(begin)
        while self._peek() != end:
            if self._peek() == "@":
                self.at += 2
                self._take("(")
                self._name()
                self._take(")")
            found.append(self._name())
            self._take(":")
            self._type()
            if self._peek() != end:
                self._take(",")
        self._take(end)
        return found

    def _function(self, entry: bool) -> None:
        name = self._name()
        self._define(name)
        if entry:
            self.kernels.append(name)
        self.scopes.append(set(self._fields("(", ")")))
        if self._peek() == "->":
            self._take("->")
            self._type()
        self._block()
        self.scopes.pop()

    def _variable(self) -> None:
        if self._peek() == "<":
            self._take("<")
            while self._take(*_SPACES) != ">":
                pass
        name = self._name()
        self._take(":")
        self._type()
        if self._peek() == "=":
            self._take("=")
            self._expression()
        self._define(name)
        self._take(";")

    def _type(self) -> None:
        name = self._name()
        known = {"array", "atomic", "vec2", "vec3", "vec4"} | _SCALARS
        assert name in known or name in self.scopes[0], f"no type {name}"
        if self._peek() == "<":
            self._take("<")
            self._type()
            if self._peek() == ",":
                self._take(",")
                self._take()
            if self._peek() == ">>":  # two lists of parameters end
                self.tokens[self.at] = ">"
            else:
                self._take(">")

    # --- statements ---

    def _block(self) -> None:
        self._take("{")
        self.scopes.append(set())
        while self._peek() != "}":
            if not self._peek():
                self._fail("}")
            self._statement()
        self.scopes.pop()
        self._take("}")

    def _statement(self) -> None:
        word = self._peek()
        if word in ("let", "var"):
            self._take()
            self._variable()
        elif word == "if":
            self._take()
            self._expression()
            self._block()
            if self._peek() == "else":
                self._take()
                self._block()
        elif word == "for":
            self._for()
        elif word == "loop":
            self._take()
            self._block()
        elif word in ("break", "continue", "return"):
            self._take()
            if self._peek() != ";":
                self._expression()
            self._take(";")
        else:
            self._assignment()
            self._take(";")

    def _for(self) -> None:
        self._take("for")
        self._take("(")
        self.scopes.append(set())
        self._take("var")
        self._variable()
        self._expression()
        self._take(";")
        self._assignment()
        self._take(")")
        self._block()
        self.scopes.pop()

    def _assignment(self) -> None:
        if self._peek() == "_":
            self._take()
        else:
            self._unary()
        if self._peek() == "=":
            self._take("=")
            self._expression()

    # --- expressions ---

    def _expression(self) -> None:
        self._unary()
        while self._peek() in _BINARY:
            self._take()
            self._unary()

    def _unary(self) -> None:
        while self._peek() in ("-", "!", "~", "&"):
            self._take()
        token = self._take()
        if not token:
            self._fail("an expression")
        if token == "(":
            self._expression()
            self._take(")")
        elif re.match(r"[A-Za-z_]", token):
            if token not in ("true", "false"):
                assert any(token in scope for scope in self.scopes), f"{token} is not declared"
            if token in ("vec2", "vec3", "vec4", "array", "bitcast"):
                self.at -= 1
                self._generic()
        elif not token[0].isdigit():
            self._fail("an expression")
        self._suffixes()

    def _generic(self) -> None:
        if self._take() == "bitcast":
            self._take("<")
            self._type()
            self._take(">")
            return
        self.at -= 1
        self._type()

    def _suffixes(self) -> None:
        while self._peek() in ("(", "[", "."):
            mark = self._take()
            if mark == ".":
                self._name()
                continue
            end = ")" if mark == "(" else "]"
            while self._peek() != end:
                self._expression()
                if self._peek() != end:
                    self._take(",")
            self._take(end)
