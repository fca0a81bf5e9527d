"""The public names are those of TVM v0.22, with the same parameters and defaults."""

from __future__ import annotations

import pytest

from tests.structure import reference

pytestmark = pytest.mark.pure

# Every name of these modules (and of those below them) is there; add a module when it is whole.
COMPLETE: tuple[str, ...] = (
    "tvm.arith", "tvm.contrib.cc", "tvm.contrib.utils", "tvm.dlight.analysis", "tvm.dlight.base",
    "tvm.dlight.cpu", "tvm.driver", "tvm.error", "tvm.ir.analysis", "tvm.ir.attrs",
    "tvm.ir.diagnostics", "tvm.ir.expr", "tvm.ir.function", "tvm.ir.global_info",
    "tvm.ir.instrument", "tvm.ir.module", "tvm.ir.op", "tvm.ir.supply", "tvm.ir.transform",
    "tvm.ir.type", "tvm.relax.binding_rewrite", "tvm.relax.block_builder",
    "tvm.relax.expr_functor", "tvm.relax.op.base", "tvm.relax.op.binary", "tvm.relax.op.builtin",
    "tvm.relax.op.ccl", "tvm.relax.op.create", "tvm.relax.op.datatype", "tvm.relax.op.grad",
    "tvm.relax.op.image", "tvm.relax.op.index", "tvm.relax.op.linear_algebra",
    "tvm.relax.op.manipulate", "tvm.relax.op.mask", "tvm.relax.op.memory", "tvm.relax.op.nn",
    "tvm.relax.op.op_attrs", "tvm.relax.op.qdq", "tvm.relax.op.sampling", "tvm.relax.op.search",
    "tvm.relax.op.set", "tvm.relax.op.sorting", "tvm.relax.op.statistical", "tvm.relax.op.ternary",
    "tvm.relax.op.unary", "tvm.relax.op.vision", "tvm.relax.op.vm", "tvm.relax.struct_info",
    "tvm.relax.ty", "tvm.relax.utils", "tvm.runtime._tensor", "tvm.runtime.device",
    "tvm.runtime.executable", "tvm.runtime.module", "tvm.runtime.object_generic",
    "tvm.runtime.params", "tvm.runtime.profiling", "tvm.runtime.support", "tvm.runtime.vm",
    "tvm.script.highlight", "tvm.script.ir_builder.base", "tvm.script.ir_builder.ir",
    "tvm.script.ir_builder.relax.frame", "tvm.script.ir_builder.tir",
    "tvm.script.parser.core.diagnostics",
    "tvm.script.parser.core.dispatch", "tvm.script.parser.core.doc",
    "tvm.script.parser.core.entry", "tvm.script.parser.core.error",
    "tvm.script.parser.core.evaluator", "tvm.script.parser.core.parser",
    "tvm.script.parser.core.utils", "tvm.script.parser.ir.entry", "tvm.script.parser.relax.entry",
    "tvm.script.parser.tir", "tvm.script.printer", "tvm.target.detect_target", "tvm.target.tag",
    "tvm.target.target", "tvm.target.virtual_device", "tvm.target.x86", "tvm.te",
    "tvm.testing.attrs", "tvm.testing.plugin", "tvm.testing.popen_pool", "tvm.testing.tir",
    "tvm.testing.utils", "tvm.tir.analysis", "tvm.tir.block_dependence_info",
    "tvm.tir.block_scope", "tvm.tir.buffer", "tvm.tir.build", "tvm.tir.data_layout",
    "tvm.tir.expr", "tvm.tir.tensor_intrin.arm_cpu", "tvm.tir.tensor_intrin.hexagon",
    "tvm.tir.tensor_intrin.riscv_cpu", "tvm.tir.tensor_intrin.x86",
    "tvm.tir.function", "tvm.tir.functor", "tvm.tir.generic", "tvm.tir.ir_builder", "tvm.tir.op",
    "tvm.tir.pipeline", "tvm.tir.schedule.instruction", "tvm.tir.schedule.state",
    "tvm.tir.schedule.testing", "tvm.tir.schedule.trace", "tvm.tir.stmt", "tvm.tir.stmt_functor",
    "tvm.tir.transform.function_pass", "tvm.topi.broadcast", "tvm.topi.einsum", "tvm.topi.image",
    "tvm.topi.index_put", "tvm.topi.math", "tvm.topi.nn", "tvm.topi.reduction", "tvm.topi.scan",
    "tvm.topi.scatter", "tvm.topi.scatter_elements", "tvm.topi.searchsorted", "tvm.topi.signal",
    "tvm.topi.slice_scatter", "tvm.topi.sort", "tvm.topi.sparse_reshape", "tvm.topi.tag",
    "tvm.topi.tensor", "tvm.topi.testing", "tvm.topi.transform", "tvm.topi.utils",
    "tvm.topi.vision",
)  # fmt: skip


@pytest.mark.parametrize("module", COMPLETE)
def test_module_is_complete(module: str) -> None:
    below = [e for e in reference.entries() if f"{e.module}.".startswith(f"{module}.")]
    assert below, f"no such module in {reference.DATA}"
    faults = [f for e in below if (f := reference.fault(e))]
    assert not faults, "\n" + "\n".join(faults)


def test_no_floor_loses_names() -> None:
    now = reference.counts()
    lost = {n: (was, now[n]) for n, was in reference.recorded().items() if now[n] < was}
    assert not lost, f"names as in the reference, before and now: {lost}"


def sample(a: int, b: str = "x", *rest: int, c: bool = True) -> None: ...


@pytest.mark.parametrize(
    ("signature", "agrees"),
    [
        ("(a, b='x', *rest, c=True)", True),
        ("(a, b='x', *rest)", True),
        ("(a, b='y', *rest, c=True)", False),
        ("(b, a)", False),
        ("(a, b='x', d=None)", False),
        ("(b='x')", False),
        ("(a, b=SOME_NAME)", True),
    ],
)
def test_parameters_are_compared(signature: str, agrees: bool) -> None:
    entry = reference.Entry("m", "", "sample", signature)
    assert (reference.mismatch(entry, sample) is None) is agrees
