"""Machine code of a kernel, line by line beside the TIR that it came from.

The last text of a kernel becomes a source file: every statement gets the line on which it is
printed as its span, and the code is written anew with debug lines. LLVM carries them through its
passes, so that an instruction of the assembly still tells its line.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from tvm.backend.llvm import jit
from tvm.backend.llvm.codegen import emit_module
from tvm.backend.llvm.target import machine_of
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.span import SourceName, Span
from tvm.target.target import Target
from tvm.tir import stmt as s
from tvm.tir.children import inner_statements
from tvm.tir.function import PrimFunc

from . import words as w

_MARK: Final = "@line "
_NOTE: Final = re.compile(r"\s*# @line (\d+)$")
_LOCATION: Final = re.compile(r"^(!\d+) = (?:distinct )?!DILocation\(line: (\d+)")
_USE: Final = re.compile(r", !dbg (!\d+)")
_LOC: Final = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
_DIRECTIVE: Final = re.compile(r"^\s*\.|^\s*#|^\s*//|^\s*;")
_LABEL: Final = re.compile(r"^([\w.$]+):")


def code_of(func: PrimFunc, name: str, target: Target, table: w.LineTable) -> w.Code:
    """The code of a lowered kernel. Its lines go to the table."""
    text, marked = numbered(func, name)
    mod = IRModule({GlobalVar(name): marked.with_attr("global_symbol", name)})
    machine = machine_of(target)
    emitted = emit_module(mod, machine, debug=True).text
    ir, ir_lines = _ir(jit.emit_optimized_text(emitted, machine), name)
    asm, asm_lines, spills = _asm(jit.emit_assembly(emitted, machine), name)
    mix = Counter(kind_of(line) for line in asm if line.startswith("    "))
    return w.Code(
        table.add_lines(text), table.add_lines(ir), ir_lines, table.add_lines(asm), asm_lines,
        dict(mix.most_common()), spills,
    )  # fmt: skip


def numbered(func: PrimFunc, name: str) -> tuple[list[str], PrimFunc]:
    """The text of a function, and the function whose statements have its lines as spans."""
    statements = _statements(func)
    notes = {stmt: f"{_MARK}{number}" for number, stmt in enumerate(statements)}
    printed = func.with_attr("global_symbol", name).script(name=name, obj_to_annotate=notes)
    lines: list[str] = []
    at: dict[int, int] = {}
    waiting: list[int] = []
    for line in printed.split("\n"):
        if line.startswith("# from tvm.script") or (not lines and not line.strip("# ")):
            continue
        found = _NOTE.search(line)
        rest = line if found is None else line[: found.start()]
        if found is not None:
            waiting.append(int(found[1]))
        if found is not None and not rest.strip():
            continue  # a note above the statement that it is for
        lines.append(rest)
        for number in waiting:
            at.setdefault(number, len(lines))
        waiting = []
    source = SourceName("kernel")
    spans = {
        stmt: Span(source, at[number], at[number], 1, 1)
        for number, stmt in enumerate(statements) if number in at
    }  # fmt: skip
    return lines, func.with_body(_with_spans(func.body, spans))


def _statements(func: PrimFunc) -> list[s.Stmt]:
    """All statements but sequences, each once, from the top."""
    found: dict[s.Stmt, None] = {}
    stack = [func.body]
    while stack:
        stmt = stack.pop()
        if stmt in found:
            continue
        if not isinstance(stmt, s.SeqStmt):
            found[stmt] = None
        stack += reversed(inner_statements(stmt))
    return list(found)


def _with_spans(body: s.Stmt, spans: dict[s.Stmt, Span]) -> s.Stmt:
    """The statement with the spans in it, made from the innermost out."""
    made: dict[s.Stmt, s.Stmt] = {}
    stack = [(body, False)]
    while stack:
        stmt, ready = stack.pop()
        if stmt in made:
            continue
        inner = inner_statements(stmt)
        if not ready:
            stack.append((stmt, True))
            stack += [(part, False) for part in inner]
            continue
        made[stmt] = _again(stmt, made, spans.get(stmt))
    return made[body]


def _again(stmt: s.Stmt, made: dict[s.Stmt, s.Stmt], span: Span | None) -> s.Stmt:
    changes: dict[str, Any] = {"span": span or stmt.span}
    for name, value in stmt.field_values().items():
        if isinstance(value, s.Stmt):
            changes[name] = made[value]
        elif name == "seq":
            changes[name] = [made[part] for part in stmt.seq]  # type: ignore[attr-defined]
    return with_fields(stmt, **changes)


def _ir(text: str, name: str) -> tuple[list[str], list[int]]:
    """The definition of a function and of those cut out of it, with lines of the source."""
    lines = text.split("\n")
    line_of = {m[1]: int(m[2]) for line in lines if (m := _LOCATION.match(line))}
    found: list[str] = []
    numbers: list[int] = []
    inside = False
    for line in lines:
        if line.startswith("define"):
            inside = True
        if not inside or "#dbg_value" in line or "llvm.dbg.value" in line:
            continue
        used = _USE.search(line)
        found.append(_USE.sub("", line))
        numbers.append(line_of.get(used[1], 0) if used and not line.startswith("define") else 0)
        if line == "}":
            inside = False
    return found, numbers


def _asm(text: str, name: str) -> tuple[list[str], list[int], int]:
    """The instructions and labels, with lines of the source; how often a register is spilled."""
    found: list[str] = []
    numbers: list[int] = []
    current, spills = 0, 0
    in_code = True
    for line in text.split("\n"):
        location = _LOC.match(line)
        if location is not None:
            current = int(location[1])
            continue
        stripped = line.strip()
        if stripped.startswith(".section"):
            in_code = ".text" in stripped
        elif stripped.startswith(".text"):
            in_code = True
        if not in_code or not stripped or _DIRECTIVE.match(line):
            continue
        label = _LABEL.match(line)
        if label is not None and label[1].startswith((".Ltmp", ".Lfunc", ".Ldebug", ".Linfo")):
            continue
        spills += "Spill" in line
        shown = line.rstrip() if label else "    " + _tidy(stripped)
        found.append(shown.partition("  #")[0].rstrip() if label else shown)
        numbers.append(0 if label else current)
    return found, numbers, spills


def _tidy(text: str) -> str:
    """One space between the words of an instruction; of comments only those on spills stay."""
    code, mark, comment = text.partition("#")
    if not mark:
        code, mark, comment = text.partition("//")
    shown = " ".join(code.split())
    return f"{shown}  # {comment.strip()}" if "pill" in comment or "eload" in comment else shown


_KINDS: Final = (
    ("multiply-add", re.compile(r"^(v?p?f?n?m(add|sub|la|ls)|vpdp|v?fml|udot|sdot|smmla|ummla|"
                                r"tdp)")),
    ("vector arithmetic", re.compile(r"^(vp?(add|sub|mul|div|min|max|sqrt|rsqrt|rcp|and|or|xor)|"
                                     r"(add|sub|mul|div|min|max|sqrt)p[sd]|f(add|sub|mul|div|min|"
                                     r"max|sqrt))")),
    ("shuffle, convert", re.compile(r"^v?(perm|shuf|unpck|punpck|pack|insert|extract|broadcast|cvt|"
                                    r"blend|pblend|pshuf|pbroadcast|align|palign|pmov[sz]x|zip|uzp|"
                                    r"trn|dup|tbl|fcvt|scvtf)")),
    ("call", re.compile(r"^(call|bl$|blr)")),
    ("branch", re.compile(r"^(j|b$|b\.|cbn?z|tbn?z|ret|br$)")),
    ("compare", re.compile(r"^(cmp|test|vcmp|vucomis|ucomis|fcmp|cset|set|ccmp|k)")),
)  # fmt: skip
_MOVES: Final = re.compile(r"^(v?mov|v?lddqu|ld|st|push|pop|v?gather|v?scatter)")


def kind_of(line: str) -> str:
    """What sort of work an instruction of x86 or AArch64 does."""
    word = line.split(None, 1)[0]
    for kind, pattern in _KINDS:
        if pattern.match(word):
            return kind
    if not _MOVES.match(word):
        return "integer, address"
    if word.startswith(("st", "push")):
        return "store"
    if word.startswith(("ld", "pop")):
        return "load"
    operands = line.strip()[len(word) :]
    first, _, rest = operands.partition(",") if "[" in operands else _att(operands)
    if "[" in first:
        return "store"
    return "load" if "[" in rest else "move"


def _att(operands: str) -> tuple[str, str, str]:
    """Operands in the order of Intel's manuals, memory in brackets."""
    head, comma, last = operands.rpartition(",")
    if last.rstrip().endswith(")") and "(" not in last:  # the comma was one of an address
        at = operands.rfind("(")
        head, comma, last = operands[:at].rpartition(",")
        last += operands[at:]
    return last.replace("(", "["), comma, head.replace("(", "[")
