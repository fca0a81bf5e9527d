"""Rows that a loop of native code reads and writes where they lie."""

from __future__ import annotations

import numpy as np

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm import relax
from tvm.relax import op
from tvm.relax.backend.cpu_generic import legalize_passes
from tvm.relax.loops import scan
from tvm.relax.vm.native import native_graph
from tvm.script import relax as R
from tvm.tir.functor import walk


def _scanned(use_twice):
    """Each row of x, squared and summed with those before: a row of the result."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((6, 5), "float32"))
    row = R.Tensor((1, 5), "float32")

    def turn(state, slices, outer):
        made = bb.emit(op.multiply(slices[0], slices[0]))
        total = bb.emit(op.add(made, state[0]))
        return [total], [total, total] if use_twice else [total]

    with bb.function("main", [x]):
        with bb.dataflow():
            first = bb.emit(op.zeros((1, 5), "float32"))
            rows = [row, row] if use_twice else [row]
            last, made = scan(bb, [first], [x], [], turn, rows, in_batches=True)
            out = bb.emit_output((bb.emit(last[0]), *(bb.emit(one) for one in made)))
        bb.emit_func_output(out)
    return bb.get()


def _copies(mod):
    """How many rows native code copies, reading and writing."""
    target = tvm.target.Target(f"llvm -mcpu={PLAIN}")
    with target:
        mod = tvm.ir.transform.Sequential(legalize_passes(target))(mod)
    main = native_graph(mod, mod.get_global_var("main"), profile=False)
    (body,) = (f.body for v, f in main.functions.items() if v.name_hint == "main")
    ops = [e.op for e in walk(body) if isinstance(e, tvm.tir.Call)]
    names = [op.name_hint for op in ops if isinstance(op, tvm.ir.GlobalVar)]
    return [sum(name.startswith(kind) for name in names) for kind in ("read_row", "write_row")]


def test_rows_are_not_copied():
    assert _copies(_scanned(use_twice=False)) == [0, 0]


def test_what_is_written_twice_is_copied_once():
    assert _copies(_scanned(use_twice=True)) == [0, 1]


def test_values():
    x = np.random.default_rng(0).standard_normal((6, 5)).astype("float32")
    want = np.cumsum(x * x, 0)
    for use_twice in (False, True):
        ex = tvm.compile(_scanned(use_twice), f"llvm -mcpu={PLAIN}")
        found = relax.VirtualMachine(ex, tvm.cpu())["main"](tvm.runtime.tensor(x))
        for one, expected in zip(found, (want[-1:], want, want)[: 2 + use_twice], strict=True):
            np.testing.assert_allclose(one.numpy(), expected, rtol=1e-5)
