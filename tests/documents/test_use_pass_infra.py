"""Passes over a program of Relay, and the texts that show what they do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay

pytestmark = pytest.mark.pure
T = "Tensor[(2, 4), float32]"
TY = f"/* ty={T} */"
HEAD = f"def @main(%a: {T} {TY}, %b: {T} {TY}) -> {T} {{\n"
C0, C1 = (f"meta[relay.Constant][{n}] {TY}" for n in (0, 1))


def program() -> relay.Function:
    """subtract(exp(tanh(a) - 6k), exp(tanh(a) - 6k)) with k a constant, and b unused but known."""
    a, b = (relay.var(name, shape=(2, 4)) for name in "ab")
    k = relay.const(np.ones((2, 4), "float32"))
    six = relay.multiply(relay.add(k, k), relay.const(3.0))
    low = relay.subtract(relay.tanh(a), six)
    return relay.Function([a, b], relay.subtract(relay.exp(low), relay.exp(low)) * (b + k))


def module() -> tvm.IRModule:
    return tvm.IRModule.from_expr(program())


def body(*lines: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in lines) + "}\n\n"


FOLDED = body(
    f"%0 = tanh(%a) {TY};",
    f"%1 = subtract(%0, {C0}) {TY};",
    f"%2 = exp(%1) {TY};",
    f"%3 = exp(%1) {TY};",
    f"%4 = subtract(%2, %3) {TY};",
    f"%5 = add(%b, {C1}) {TY};",
    f"multiply(%4, %5) {TY}",
)
MERGED = body(
    f"%0 = tanh(%a) {TY};",
    f"%1 = subtract(%0, {C0}) {TY};",
    f"%2 = exp(%1) {TY};",
    f"%3 = subtract(%2, %2) {TY};",
    f"%4 = add(%b, {C1}) {TY};",
    f"multiply(%3, %4) {TY}",
)


def test_untyped_programs_print_without_comments() -> None:
    shown = "meta[relay.Constant][0]"
    assert str(module()) == (
        f"def @main(%a: {T}, %b: {T}) {{\n"
        f"  %0 = add({shown}, {shown});\n"
        "  %1 = tanh(%a);\n"
        "  %2 = multiply(%0, 3f);\n"
        "  %3 = subtract(%1, %2);\n"
        "  %4 = exp(%3);\n"
        "  %5 = exp(%3);\n"
        "  %6 = subtract(%4, %5);\n"
        f"  %7 = add(%b, {shown});\n"
        "  multiply(%6, %7)\n"
        "}\n\n"
    )


def test_one_pass_after_the_other() -> None:
    mod = relay.transform.FoldConstant()(module())
    assert str(mod) == FOLDED
    mod = relay.transform.EliminateCommonSubexpr()(mod)
    assert str(mod) == MERGED
    apart = str(relay.transform.FuseOps(fuse_opt_level=0)(mod))
    # names go to the functions from the last call back: a callee before the operands
    assert re.findall(r"fn \(%p0(\d*):", apart) == ["4", "3", "2", "1", "5", ""]
    whole = str(relay.transform.FuseOps(fuse_opt_level=2)(mod))
    assert whole.count("Primitive=1") == 1
    assert "  %5 = fn (%p0: " in whole
    assert f"  %5(%a, {C0}, %b, {C1}) {TY}\n" in whole


def test_sequences_by_level_and_by_name() -> None:
    seq = tvm.transform.Sequential(
        [relay.transform.FoldConstant(), relay.transform.EliminateCommonSubexpr()]
    )
    assert str(seq(module())) == FOLDED  # level 2 leaves what is of level 3
    with tvm.transform.PassContext(opt_level=3):
        assert str(seq(module())) == MERGED
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        assert str(seq(module())) == FOLDED


def test_a_decorated_class() -> None:
    @relay.transform.function_pass(opt_level=1)
    class Shift:
        def __init__(self, by: Any) -> None:
            self.by = by

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            by = self.by

            class Add(relay.ExprMutator):
                def visit_constant(self, c: Any) -> Any:
                    return relay.add(by, c)

            return Add().visit(func)

    shift = Shift(relay.const(2.0))  # type: ignore[call-arg]
    assert (shift.info.name, shift.info.opt_level) == ("Shift", 1)
    text = str(shift(module()))
    assert f"%0 = add(2f /* ty=float32 */, {C0}) {TY};" in text
    assert "add(2f /* ty=float32 */, 3f /* ty=float32 */) /* ty=float32 */" in text
    assert text.startswith(HEAD)


def test_print_ir_and_instruments(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Note:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            seen.append(f"{info}{mod}")

    seq = tvm.transform.Sequential([
        relay.transform.FoldConstant(), tvm.transform.PrintIR(),
        relay.transform.EliminateCommonSubexpr(), relay.transform.FuseOps(),
    ])  # fmt: skip
    with tvm.transform.PassContext(opt_level=3, instruments=[Note()]), tvm.target.Target("llvm"):
        seq(module())
    said = "The meta data of the pass - pass name: {}, opt_level: {}, required passes: {}\n"
    needs = "[\nInferType, ]"
    wanted = [
        ("sequential", 0, "[]"), ("FoldConstant", 2, "[]"), ("InferType", 0, "[]"),
        ("PrintIR", 0, "[]"), ("InferType", 0, "[]"), ("EliminateCommonSubexpr", 3, needs),
        ("InferType", 0, "[]"), ("InferType", 0, "[]"), ("FuseOps", 0, needs),
        ("InferType", 0, "[]"),
    ]  # fmt: skip
    assert len(seen) == len(wanted)
    for text, info in zip(seen, wanted):
        assert text.startswith(said.format(*info) + "def @main(")
    assert seen[1].endswith(str(module()))
    assert "/* ty=" not in seen[2]
    assert seen[5].endswith(FOLDED)
    assert seen[6].endswith(MERGED)
    printed = capsys.readouterr()
    assert printed.err == f"PrintIR():\n{FOLDED}\n"
    assert not printed.out
