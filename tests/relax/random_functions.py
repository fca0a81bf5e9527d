"""Random Relax functions of all kinds of expressions, the same for the same seed.

Every function takes tensors of shape (rows, 6), where the rows may be a symbol, and gives one such
tensor, or a tuple of values. Between them stand operators, branches, tuples, casts, local functions
with captured values, calls of other functions of the module, of packed functions and of kernels,
shapes and numbers computed from symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tvm
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import BindingBlock, If, SeqExpr, VarBinding

COLUMNS = 6
PACKED = "test.random_functions.halves"


@tvm.register_global_func(PACKED, override=True)
def _halves(x: Any) -> Any:
    values = x if isinstance(x, np.ndarray) else x.numpy()
    return tvm.runtime.tensor(values * np.float32(0.5))


def _kernel() -> tir.PrimFunc:
    """out = -x, for any number of rows."""
    rows = tir.Var("rows", "int64")
    x, out = (tir.decl_buffer((rows, COLUMNS), "float32", name) for name in ("x", "out"))
    handles = [tir.Var("px", "handle"), tir.Var("pout", "handle")]
    i, j = tir.Var("i", "int64"), tir.Var("j", "int64")
    zero = tir.FloatImm("float32", 0.0)
    store = tir.BufferStore(out, tir.Sub(zero, tir.BufferLoad(x, [i, j])), [i, j])
    inner = tir.For(j, tir.IntImm("int64", 0), tir.IntImm("int64", COLUMNS), 0, store)
    outer = tir.For(i, tir.IntImm("int64", 0), rows, 0, inner)
    attrs = {"tir.noalias": True, "tir.is_scheduled": True}
    return tir.PrimFunc(handles, outer, None, dict(zip(handles, (x, out))), attrs)


class _Function:
    """Writes one function: the values made so far, newest last."""

    def __init__(
        self, bb: relax.BlockBuilder, rng: np.random.Generator, helpers: list[Any], kernel: Any
    ) -> None:
        self.bb = bb
        self.rng = rng
        self.helpers = helpers
        self.kernel = kernel
        self.symbolic = bool(rng.integers(2))
        self.rows: Any = tir.Var("n", "int64") if self.symbolic else 4
        self.pure = True
        self.values: list[relax.Expr] = []

    def info(self) -> relax.TensorStructInfo:
        return relax.TensorStructInfo((self.rows, COLUMNS), "float32")

    def pick(self) -> relax.Expr:
        back = int(self.rng.integers(len(self.values)) * self.rng.random())
        return self.values[-1 - back]

    def params(self) -> list[relax.Var]:
        first = relax.Var("x", self.info())
        pair = relax.Var("pair", relax.TupleStructInfo([self.info(), self.info()]))
        flag = relax.Var("flag", relax.TensorStructInfo((), "bool"))
        loose = relax.Var("loose", relax.TensorStructInfo(None, "float32", ndim=2))
        return [first, pair, flag, loose]

    # --- expressions ---

    def operator(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        rules: list[Callable[[], relax.Expr]] = [
            lambda: op.add(a, b),
            lambda: op.multiply(op.tanh(a), b),
            lambda: op.maximum(a, b),
            lambda: op.nn.relu(a),
            lambda: op.nn.softmax(a, axis=-1),
            lambda: op.subtract(a, op.mean(b, axis=[1], keepdims=True)),
            lambda: op.where(op.greater(a, b), a, b),
            lambda: op.add(a, relax.const(self.rng.uniform(-1, 1, COLUMNS).astype("float32"))),
            lambda: op.multiply(a, relax.const(np.float32(self.rng.uniform(-1, 1)))),
            lambda: op.permute_dims(op.permute_dims(a, [1, 0]), [1, 0]),
            lambda: self.whole(a),
        ]
        return rules[self.rng.integers(len(rules))]()

    def whole(self, a: relax.Expr) -> relax.Expr:
        """Integers near a value. Whole numbers, and halves of them, which are computed with an
        error, are far from where rounding jumps."""
        scale, shift = (relax.const(np.float32(value)) for value in (0.731, 0.123))
        turned = op.add(op.multiply(a, scale), shift)
        return op.astype(op.astype(op.round(op.clip(turned, -8, 8)), "int32"), "float32")

    def branch(self, flag: relax.Var) -> relax.Expr:
        sides = []
        for _ in range(2):
            self.bb.begin_scope(None)
            self.bb.begin_binding_block()
            depth = int(self.rng.integers(1, 3))
            value = self.pick()
            for _ in range(depth):
                value = self.bb.emit(self.operator(value, self.pick()))
            block = self.bb.end_block()
            self.bb.end_scope()
            side = SeqExpr([block], value)
            side.struct_info_ = value.struct_info_
            sides.append(side)
        return If(flag, sides[0], sides[1])

    def local_function(self) -> relax.Expr:
        captured, given = self.pick(), self.pick()
        inner = relax.Var("inner_x", relax.TensorStructInfo((5, COLUMNS), "float32"))
        if self.symbolic:
            inner = relax.Var(
                "inner_x", relax.TensorStructInfo((tir.Var("k", "int64"), COLUMNS), "float32")
            )
        else:
            inner = relax.Var("inner_x", self.info())
        row = self.bb.emit(op.max(captured, axis=[0], keepdims=True))
        result = self.bb.normalize(op.add(inner, row))
        var = relax.Var("inner_y", result.struct_info_)
        seq = SeqExpr([BindingBlock([VarBinding(var, result)])], var)
        seq.struct_info_ = var.struct_info_
        func = relax.Function([inner], seq, inner.struct_info_)
        local = self.bb.emit(func, "local")
        return relax.Call(local, [given])

    def step(self, flag: relax.Var) -> relax.Expr:
        """One expression that gives a tensor of the common shape."""
        choice = int(self.rng.integers(14))
        a, b = self.pick(), self.pick()
        if choice == 0:
            return self.branch(flag)
        if choice == 1:
            whole = self.bb.emit(relax.Tuple([a, relax.Tuple([b, a])]))
            inner = self.bb.emit(relax.TupleGetItem(whole, 1))
            return relax.TupleGetItem(inner, 0)
        if choice == 2 and self.helpers:
            helper = self.helpers[self.rng.integers(len(self.helpers))]
            return relax.Call(helper, [a])
        if choice == 3:
            return self.local_function()
        if choice == 4:
            info = self.info()
            return relax.call_pure_packed(PACKED, a, sinfo_args=info)
        if choice == 5:
            return relax.call_tir(self.kernel, [a], self.info())
        if choice == 6:
            flat = self.bb.emit(op.reshape(a, relax.ShapeExpr([self.rows * COLUMNS])))
            return op.reshape(flat, relax.ShapeExpr([self.rows, COLUMNS]))
        if choice == 7:
            filled = op.full(relax.ShapeExpr([self.rows, COLUMNS]),
                             relax.const(np.float32(0.5)), "float32")  # fmt: skip
            return op.multiply(filled, a)
        if choice == 8:
            parts = self.bb.emit(op.split(a, 2, axis=1))
            left = self.bb.emit(relax.TupleGetItem(parts, 0))
            right = self.bb.emit(relax.TupleGetItem(parts, 1))
            return op.concat([right, left], axis=1)
        return self.operator(a, b)

    def write(self, name: str, length: int) -> None:
        first, pair, flag, loose = self.params()
        with self.bb.function(name, [first, pair, flag, loose]):
            self.values = [first]
            self.values.append(self.bb.emit(relax.TupleGetItem(pair, 0)))
            self.values.append(self.bb.emit(relax.TupleGetItem(pair, 1)))
            self.values.append(self.bb.match_cast(loose, self.info()))
            for _ in range(length):
                self.values.append(self.bb.emit(self.step(flag)))
            if self.rng.integers(2):
                with self.bb.dataflow():
                    for _ in range(int(self.rng.integers(1, 4))):
                        made = self.bb.emit(self.operator(self.pick(), self.pick()))
                        self.values.append(made)
                    self.values.append(self.bb.emit_output(self.operator(made, self.pick())))
            self.bb.emit_func_output(self.result())

    def result(self) -> relax.Expr:
        last = self.values[-1]
        kind = int(self.rng.integers(4))
        visible = [v for v in self.values if not isinstance(v, relax.DataflowVar)]
        if kind == 0:
            return relax.Tuple([last, visible[self.rng.integers(len(visible))]])
        if kind == 1 and self.symbolic:
            return relax.Tuple([last, relax.ShapeExpr([self.rows + 1, COLUMNS])])
        return last


def random_functions(seed: int, count: int) -> IRModule:
    """A module of `count` functions `f0`, `f1`, ... and what they call."""
    rng = np.random.default_rng(seed)
    bb = relax.BlockBuilder()
    kernel = bb.add_func(_kernel(), "negate")
    helpers: list[Any] = []
    for number in range(2):
        rows = tir.Var("m", "int64")
        x = relax.Var("x", relax.TensorStructInfo((rows, COLUMNS), "float32"))
        with bb.function(f"helper{number}", [x], private=True):
            y = bb.emit(op.tanh(x) if number else op.nn.relu(x))
            helpers.append(bb.emit_func_output(y))
    for number in range(count):
        writer = _Function(bb, rng, helpers, kernel)
        writer.write(f"f{number}", int(rng.integers(2, 9)))
    return bb.get()


def random_arguments(seed: int, rows: int = 4) -> list[Any]:
    """Arguments for any of the functions."""
    rng = np.random.default_rng(seed)

    def tensor() -> Any:
        return rng.uniform(-2, 2, (rows, COLUMNS)).astype("float32")

    return [tensor(), (tensor(), tensor()), np.array(bool(rng.integers(2))), tensor()]
