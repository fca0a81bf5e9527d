from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.stmt import Stmt
from tvm.tir.transform import ApplyCustomPass, PassContext


@T.prim_func
def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]


@T.prim_func
def flat(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]


@T.prim_func
def doubled(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * T.float32(2)


FLAT = IRModule({"main": flat.with_attr("global_symbol", "main")})


def double(stmt: Stmt) -> Stmt:
    def twice(node: tir.Stmt) -> tir.Stmt | None:
        if isinstance(node, tir.BufferStore):
            return tir.BufferStore(node.buffer, node.value * tir.const(2, "float32"), node.indices)
        return None

    found: Stmt = tir.stmt_functor.ir_transform(stmt, None, twice, ["tir.BufferStore"])
    return found


@pytest.fixture
def own() -> Iterator[PassContext]:
    """A context of the test's own, so that the thread's stays as it is."""
    with PassContext(opt_level=3) as ctx:
        yield ctx


def names_of(run: Any, ctx: PassContext) -> list[str]:
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            seen.append(info.name)

    ctx.override_instruments([Names()])
    run()
    return seen


@pytest.mark.pure
def test_before_and_after(own: PassContext) -> None:
    own.add_custom_pass(double, "tir.double")
    after = ApplyCustomPass()(FLAT)
    tvm.ir.assert_structural_equal(after["main"], doubled.with_attr("global_symbol", "main"))


@pytest.mark.pure
def test_no_pass_changes_nothing(own: PassContext) -> None:
    assert ApplyCustomPass()(FLAT) is FLAT


@pytest.mark.pure
def test_the_signature_says_what_a_pass_works_on(own: PassContext) -> None:
    seen: list[type] = []

    def by_name(func):  # type: ignore[no-untyped-def]
        seen.append(type(func))
        return func.with_attr("by_name", 1)

    def by_annotation(x: tir.PrimFunc) -> tir.PrimFunc:
        seen.append(type(x))
        return x.with_attr("by_annotation", 1)

    def of_three(x: Any, mod: Any, ctx: Any) -> Any:
        assert isinstance(mod, IRModule)
        assert ctx is own
        seen.append(type(x))
        return x

    def of_statement(func: Stmt) -> Stmt:
        seen.append(type(func))
        return func

    for one in (by_name, by_annotation, of_three, of_statement):
        own.add_custom_pass(one)
    own.add_custom_pass(tir.transform.Simplify(), "simplify once more")
    after = ApplyCustomPass()(FLAT)["main"]
    assert seen == [tir.PrimFunc, tir.PrimFunc, tir.PrimFunc, tir.For]
    assert after.attrs["by_name"] == after.attrs["by_annotation"] == 1


@pytest.mark.pure
def test_passes_are_kept_per_context_and_in_order(own: PassContext) -> None:
    ran: list[str] = []

    def note(name: str) -> Any:
        def run(stmt: Stmt) -> Stmt:
            ran.append(name)
            return stmt

        return run

    own.add_custom_pass(note("a"), "a")
    own.add_custom_pass(note("b"), "b")
    with PassContext(opt_level=0) as inner:
        inner.add_custom_pass(note("c"), "c")
        inner.add_custom_pass(note("inner a"), "a")
        assert list(inner.custom_passes) == ["a", "b", "c"]
        ApplyCustomPass()(FLAT)
        assert ran == ["inner a", "b", "c"]
    ran.clear()
    own.add_custom_pass(note("later a"), "a")
    own.remove_custom_pass("b")
    ApplyCustomPass()(FLAT)
    assert ran == ["later a"]
    assert list(PassContext(opt_level=1).custom_passes) == []


@pytest.mark.pure
def test_the_context_of_the_thread_holds_them_too() -> None:
    ctx = PassContext.current()
    ctx.add_custom_pass(double, "tir.double")
    try:
        with PassContext(opt_level=3):
            after = ApplyCustomPass()(FLAT)
        tvm.ir.assert_structural_equal(after["main"], doubled.with_attr("global_symbol", "main"))
    finally:
        ctx.remove_custom_pass("tir.double")
    assert ApplyCustomPass()(FLAT) is FLAT


@pytest.mark.pure
def test_they_show(own: PassContext) -> None:
    said = "Pass context information: \n\topt_level: 3\n\trequired passes: []\n"
    said += "\tdisabled passes: []\n\tinstruments: []\n\tconfig: {}\n"
    assert str(own) == said
    own.add_custom_pass(double, "tir.double")
    assert str(own) == said + "\tcustom passes: ['tir.double']\n"
    ran = names_of(lambda: ApplyCustomPass()(FLAT), own)
    assert ran == ["tir.ApplyCustomPass", "tir.double"]
    with PassContext(disabled_pass=["tir.double"]):
        assert ApplyCustomPass()(FLAT) is FLAT


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_the_default_pipeline_runs_them_on_flat_loops(own: PassContext, target: str) -> None:
    own.add_custom_pass(double, "tir.double")
    found: list[Any] = []
    ran = names_of(lambda: found.append(tvm.tir.build(copy, target)), own)
    at = ran.index("tir.double")
    assert ran[at - 3 : at + 2] == [
        "tir.FlattenBuffer", "tir.JoinDigits", "tir.ApplyCustomPass", "tir.double",
        "tir.ShortenLastTile",
    ]  # fmt: skip
    a = np.arange(8, dtype="float32")
    out = tvm.runtime.tensor(np.zeros(8, "float32"))
    found[0]["copy"](tvm.runtime.tensor(a), out)
    np.testing.assert_array_equal(out.numpy(), a * 2)


@pytest.mark.pure
def test_the_pipeline_for_devices_runs_them(own: PassContext) -> None:
    own.add_custom_pass(double, "tir.double")
    sch = tir.Schedule(copy)
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    text = tvm.tir.build(sch.mod, "cuda").imports[0].inspect_source()
    assert "* 2.000000e+00f" in text


@pytest.mark.pure
def test_an_error_names_the_pass_and_the_function(own: PassContext) -> None:
    def wrong(stmt: Stmt) -> Stmt:
        raise KeyError("nothing here")

    own.add_custom_pass(wrong, "tir.wrong")
    with pytest.raises(tvm.TVMError) as caught:
        ApplyCustomPass()(FLAT)
    assert str(caught.value) == (
        "custom pass 'tir.wrong'\n  found: KeyError: 'nothing here'\n  where: function 'main'"
    )
    assert isinstance(caught.value.__cause__, KeyError)
    own.add_custom_pass(lambda stmt: None, "tir.wrong")
    with pytest.raises(tvm.TVMError, match="it returned NoneType; legal: a Stmt"):
        ApplyCustomPass()(FLAT)


@pytest.mark.pure
def test_rejects(own: PassContext) -> None:
    with pytest.raises(TypeError, match="found int; legal: a function of a statement"):
        own.add_custom_pass(3, "x")
    with pytest.raises(ValueError, match=r"has no pass 'tir\.dubble'"):
        own.remove_custom_pass("tir.dubble")
