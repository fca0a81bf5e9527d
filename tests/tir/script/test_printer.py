"""TensorIR prints as TVMScript, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import tir
from tvm.ir import PointerType, PrimType, Range, TupleType, assert_structural_equal
from tvm.script import from_source
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tir as B
from tvm.target import Target
from tvm.tir import op

pytestmark = pytest.mark.pure
x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
n, f = tir.Var("n", "int64"), tir.Var("f", "float32")
p, q = tir.Var("p", "bool"), tir.Var("q", "bool")
A = tir.decl_buffer((16, 16), "float32", "A")
V = tir.decl_buffer((16,), "float32", "V")
S = tir.decl_buffer((), "float32", "S")


def imm(dtype: str, value: Any) -> Any:
    return tir.FloatImm(dtype, value) if "float" in dtype else tir.IntImm(dtype, value)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (imm("int32", -3), "-3"),
        (imm("int64", 7), "T.int64(7)"),
        (imm("uint8", 255), "T.uint8(255)"),
        (imm("bool", 1), "T.bool(True)"),
        (imm("float32", 1.0), "T.float32(1.0)"),
        (imm("float16", 0.5), "T.float16(0.5)"),
        (imm("bfloat16", 2.0), "T.bfloat16(2.0)"),
        (imm("float64", 1e-5), "T.float64(1.0000000000000001e-05)"),
        (imm("float32", float("-inf")), 'T.float32("-inf")'),
        (tir.StringImm('say "x"'), '"say \\"x\\""'),
        (x + 1, "x + 1"),
        (n + 1, "n + T.int64(1)"),
        (x - (y - 1), "x - (y - 1)"),
        ((x + y) * 2, "(x + y) * 2"),
        (x // 3 % y, "x // 3 % y"),
        (tir.Div(x, y), "T.Div(x, y)"),
        (f / f, "f / f"),
        (tir.Mod(x, y), "T.truncmod(x, y)"),
        (tir.Min(x, 3), "T.min(x, 3)"),
        (tir.Max(x, y), "T.max(x, y)"),
        (tir.Add(1, 2), "T.Add(1, 2)"),
        (tir.Mul(x, 1), "T.Mul(x, 1)"),
        (tir.Min(2, 3), "T.Min(2, 3)"),
        (x < y, "x < y"),
        (tir.EQ(x, y), "x == y"),
        (tir.NE(x, 1), "x != 1"),
        (tir.LT(1, 2), "T.LT(1, 2)"),
        (tir.And(p, tir.Or(q, tir.Not(p))), "p and (q or not p)"),
        (tir.Not(tir.And(p, q)), "not (p and q)"),
        (tir.Select(p, x, y), "T.Select(p, x, y)"),
        (tir.Cast("float32", x), 'T.Cast("float32", x)'),
        (tir.Ramp(x, 1, 4), "T.Ramp(x, 1, 4)"),
        (tir.Broadcast(f, 8), "T.Broadcast(f, 8)"),
        (tir.Broadcast(f, op.vscale() * 4), "T.Broadcast(f, T.vscale() * 4)"),
        (tir.Shuffle([f, f], [0, 1]), "T.Shuffle([f, f], [0, 1])"),
        (tir.Let(x, 1, x + y), "T.Let(x + y, where={x: 1})"),
        (A[x, 1], "A[x, 1]"),
        (S[()], "S[()]"),
        (tir.BufferLoad(V, [tir.Ramp(x, 1, 4)]), "V[x:x + 4]"),
        (tir.BufferLoad(V, [tir.Ramp(0, 2, 4)]), "V[0:8:2]"),
        (tir.BufferLoad(V, [tir.Ramp(0, 1, 4)], tir.Broadcast(p, 4)),
         "V.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast(p, 4))"),
        (op.exp(f), "T.exp(f)"),
        (op.call_extern("int32", "go", x, "s"), 'T.call_extern("int32", "go", x, "s")'),
        (op.call_packed("go", V.data), 'T.call_packed("go", V)'),
        (op.reinterpret("int32", f), 'T.reinterpret("int32", f)'),
        (op.if_then_else(p, x, 1), "T.if_then_else(p, x, 1)"),
        (op.likely(p), "T.likely(p)"),
        (x & 3, "T.bitwise_and(x, 3)"),
        (~x, "T.bitwise_not(x)"),
        (x << 2, "T.shift_left(x, 2)"),
        (op.tvm_struct_get(V.data, 0, 1, "handle"), 'T.tvm_struct_get(V, 0, 1, "handle")'),
        (op.isnan(f), "T.isnan(f)"),
        (x.equal(1) == y.equal(2), "(x == 1) == (y == 2)"),
    ],
)  # fmt: skip
def test_expressions(expr: Any, text: str) -> None:
    assert str(expr) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (PrimType("int8"), "T.int8"),
        (PointerType(PrimType("float32"), "shared"), 'T.handle("float32", "shared")'),
        (PointerType(PrimType("void")), 'T.handle("void", "global")'),
            (PrimType("handle"), "T.handle"),
        (TupleType([PrimType("int32"), PrimType("bool")]), "T.Tuple(T.int32, T.bool)"),
        (Range(1, 5), "I.Range(1, 5)"),
        (tir.IterVar((0, 8), x, tir.IterVar.CommReduce, "t"),
         'T.iter_var(x, T.Range(0, 8), "CommReduce", "t")'),
        (tir.BufferRegion(A, [Range(0, 4), Range.from_min_extent(x, 1)]), "A[0:4, x]"),
        (tir.IndexMap.from_func(lambda i, j: [i // 4, j], index_dtype="int32"),
         'T.index_map(lambda i, j: (i // 4, j), index_dtype="int32")'),
        (tir.CommReducer([x], [y], [x + y], [0]), "T.comm_reducer(lambda x, y: x + y, [0])"),
    ],
)  # fmt: skip
def test_other_words(node: Any, text: str) -> None:
    assert node.script() == text


def test_targets() -> None:
    text = str(tir.PrimFunc([], tir.Evaluate(0), attrs={"target": Target("llvm")}))
    assert 'T.func_attr({"target": T.target({"keys": ["cpu"], "kind": "llvm"' in text


def shown(stmt: Any) -> str:
    return stmt.script()  # type: ignore[no-any-return]


def test_free_variables_and_buffers_are_declared_where_they_are_used() -> None:
    m = tir.Var("m", "int64")
    buffer = tir.decl_buffer((m,), "float16", "C")
    loop = tir.For(x, 0, 4, 0, tir.BufferStore(buffer, buffer[x], [y]))
    assert shown(loop) == (
        "for x in range(4):\n"
        "    m = T.int64()\n"
        '    C = T.Buffer((m,), "float16")\n'
        "    y = T.int32()\n"
        "    C[y] = C[x]"
    )


LOOPS = [
    (tir.ForKind.SERIAL, 0, None, "range(8)"),
    (tir.ForKind.SERIAL, 2, None, "range(2, 10)"),
    (tir.ForKind.SERIAL, 0, {"k": 1}, 'T.serial(8, annotations={"k": 1})'),
    (tir.ForKind.PARALLEL, 0, None, "T.parallel(8)"),
    (tir.ForKind.VECTORIZED, 0, None, "T.vectorized(8)"),
    (tir.ForKind.UNROLLED, 1, {"k": "v"}, 'T.unroll(1, 9, annotations={"k": "v"})'),
]


@pytest.mark.parametrize(("kind", "low", "notes", "text"), LOOPS)
def test_loops(kind: Any, low: int, notes: Any, text: str) -> None:
    loop = tir.For(x, low, 8, kind, tir.Evaluate(x), None, notes)
    assert shown(loop) == f"for x in {text}:\n    T.evaluate(x)"


def test_thread_bound_loops_and_grids() -> None:
    thread = tir.IterVar(None, tir.Var("", "int32"), 1, "threadIdx.x")
    bound = tir.For(x, 0, 8, tir.ForKind.THREAD_BINDING, tir.Evaluate(x), thread)
    assert shown(bound).startswith('for x in T.thread_binding(8, thread="threadIdx.x"):')
    inner = tir.For(y, 0, x + 1, 0, tir.Evaluate(y))
    z = tir.Var("z", "int64")
    assert shown(tir.For(x, 0, 8, 0, inner)).startswith("for x in range(8):\n    for y in range(x")
    grid = tir.For(x, 0, 8, 0, tir.For(z, 0, 4, 0, tir.Evaluate(z)))
    assert shown(grid) == "for x, z in T.grid(8, T.int64(4)):\n    T.evaluate(z)"
    assert "T.grid" not in grid.script(syntax_sugar=False)


def test_scopes_with_and_without_with() -> None:
    def nest(body: Any) -> Any:
        v = tir.Var("v", PointerType(PrimType("float32"), "local"))
        d = tir.Buffer(v, "float32", [8], name="D")
        asserted = tir.AssertStmt(x < 3, "why", tir.DeclBuffer(d, body))
        memory = tir.Allocate(v, "float32", [16], True, asserted)
        return tir.LetStmt(x, 1, tir.AttrStmt("node", "key", 2, memory))

    both = tir.SeqStmt([nest(tir.Evaluate(0)), nest(tir.Evaluate(1))])
    assert shown(tir.While(p, both)) == (
        "p = T.bool()\n"
        "while p:\n"
        "    with T.LetStmt(1) as x:\n"
        '        T.attr("node", "key", 2)\n'
        '        v = T.allocate([16], "float32", "local")\n'
        '        assert x < 3, "why"\n'
        '        D = T.decl_buffer((8,), data=v, scope="local")\n'
        "        T.evaluate(0)\n"
        "    x: T.int32 = 1\n"
        '    T.attr("node", "key", 2)\n'
        '    v = T.allocate([16], "float32", "local")\n'
        '    assert x < 3, "why"\n'
        '    D = T.decl_buffer((8,), data=v, scope="local")\n'
        "    T.evaluate(1)"
    )


def test_allocated_buffers_are_said_at_once() -> None:
    v = tir.Var("v", PointerType(PrimType("float32")))
    d = tir.Buffer(v, "float32", [8], name="D")
    use = tir.Evaluate(v)
    same = tir.Allocate(v, "float32", [8], True, tir.DeclBuffer(d, use))
    assert shown(same) == "with T.decl_buffer((8,)) as D:\n    T.evaluate(D.data)"
    other = tir.Allocate(v, "float32", [9], True, tir.DeclBuffer(d, use))
    assert shown(other) == (
        'with T.allocate([9], "float32", "global") as v:\n'
        "    D = T.decl_buffer((8,), data=v)\n"
        "    T.evaluate(v)"
    )
    assert shown(tir.DeclBuffer(d, use)) == (
        'v = T.handle("float32", "global")\n'
        "with T.decl_buffer((8,), data=v) as D:\n"
        "    T.evaluate(v)"
    )


def test_constants_realizes_and_predicates() -> None:
    v = tir.Var("v", PointerType(PrimType("int32")))
    const = tir.AllocateConst(v, "int32", [2, 2], np.arange(4).reshape(2, 2), tir.Evaluate(v))
    assert shown(const).startswith('with T.allocate_const([0, 1, 2, 3], "int32", [2, 2]) as v:')
    room = tir.BufferRealize(V, [Range(0, 8)], True, tir.Evaluate(0))
    assert shown(room).endswith('with T.realize(V[0:8], ""):\n    T.evaluate(0)')
    scoped = tir.AttrStmt(V, "realize_scope", tir.StringImm("shared"), room)
    assert shown(scoped).endswith('with T.realize(V[0:8], "shared"):\n    T.evaluate(0)')
    other = tir.AttrStmt(tir.decl_buffer((8,)), "realize_scope", tir.StringImm("shared"), room)
    assert '"realize_scope", "shared"):' in shown(other)
    assert 'T.realize(V[0:8], "")' in shown(other)
    store = tir.BufferStore(V, tir.Broadcast(f, 4), [tir.Ramp(0, 1, 4)], tir.Broadcast(p, 4))
    assert shown(store).endswith(
        "V.vstore([T.Ramp(0, 1, 4)], T.Broadcast(f, 4), predicate=T.Broadcast(p, 4))"
    )


def test_choices_and_returns() -> None:
    other = tir.Evaluate(op.call_extern("int32", "g"))
    stmt = tir.IfThenElse(x < 3, tir.Evaluate(op.ret(x)), other)
    assert shown(stmt).endswith('if x < 3:\n    return x\nelse:\n    T.call_extern("int32", "g")')


def test_threads_shared_by_launches_are_declared_first() -> None:
    def launch(body: Any) -> Any:
        return tir.AttrStmt(thread, "thread_extent", 32, body)

    thread = tir.IterVar(Range(0, 32), tir.Var("tx", "int32"), 1, "threadIdx.x")
    once = tir.PrimFunc([], launch(tir.Evaluate(thread.var)))
    assert '    tx = T.launch_thread("threadIdx.x", 32)\n    T.evaluate(tx)' in str(once)
    body = tir.SeqStmt([launch(tir.Evaluate(thread.var)), launch(tir.Evaluate(0))])
    assert str(tir.PrimFunc([], body)).endswith(
        '    tx = T.env_thread("threadIdx.x")\n'
        "    with T.launch_thread(tx, 32):\n"
        "        T.evaluate(tx)\n"
        "    T.launch_thread(tx, 32)\n"
        "    T.evaluate(0)"
    )


def block(iters: Any, values: Any, body: Any = None, **more: Any) -> Any:
    made = tir.Block(iters, [], [], "b", body or tir.Evaluate(0), **more)
    return tir.BlockRealize(values, True, made)


def test_axes_of_blocks() -> None:
    vi, vj, vk, vl = (tir.Var(name, "int32") for name in ("vi", "vj", "vk", "vl"))
    iters = [
        tir.IterVar(Range(0, 8), vi, 0),
        tir.IterVar(Range(0, 4), vj, 2),
        tir.IterVar(Range(2, 6), vk, 2),
        tir.IterVar(Range(0, 8), vl, 3),
    ]
    loops = tir.For(x, 0, 8, 0, tir.For(y, 0, 4, 0, block(iters, [x, y, x + 2, y])))
    assert shown(loops) == (
        "for x, y in T.grid(8, 4):\n"
        '    with T.block("b"):\n'
        '        vi, vj = T.axis.remap("SR", [x, y])\n'
        "        vk = T.axis.reduce((2, 6), x + 2)\n"
        "        vl = T.axis.scan(8, y)\n"
        "        T.reads()\n"
        "        T.writes()\n"
        "        T.evaluate(0)"
    )
    bare = tir.Block(iters[:1], [], [], "b", tir.Evaluate(0))
    assert shown(bare).split("\n")[:2] == [
        'with T.block("b", no_realize=True):', "    vi = T.axis.spatial(8)",
    ]  # fmt: skip


def test_parts_of_blocks_in_order() -> None:
    w = tir.decl_buffer((4,), "float32", "W", strides=[tir.Var("s0", "int32")], offset_factor=4)
    match = tir.MatchBufferRegion(w, tir.BufferRegion(V, [Range(0, 4)]))
    local = tir.decl_buffer((4,), "float16", "L", scope="local")
    body = tir.BufferStore(w, w[0], [w.strides[0] + w.elem_offset])
    realize = block(
        [], [], body, init=tir.BufferStore(V, 0.0, [0]), alloc_buffers=[local],
        match_buffers=[match], annotations={"b": 1, "a": "x"},
    )  # fmt: skip
    guarded = tir.BlockRealize([], p, realize.block)
    func = tir.PrimFunc([V, p], tir.BlockRealize([], True, tir.Block(
        [], [], [], "root", tir.SeqStmt([guarded, guarded]))))  # fmt: skip
    assert str(func).split("\n")[4:16] == [
        '    # with T.block("root"):',
        '    with T.block("b"):',
        "        T.where(p)",
        "        T.reads()",
        "        T.writes()",
        '        T.block_attr({"a": "x", "b": 1})',
        '        L = T.alloc_buffer((4,), "float16", scope="local")',
        '        W = T.match_buffer(V[0:4], (4,), strides=("s0",), offset_factor=4)',
        "        with T.init():",
        "            V[0] = T.float32(0.0)",
        "        W[W.strides[0] + W.elem_offset] = W[0]",
        '    with T.block("b"):',
    ]


def test_signatures() -> None:
    shared = tir.decl_buffer((8,), "float32", "B", data=A.data)
    odd = tir.decl_buffer((n, 4), "bool", "C", scope="shared", data_alignment=16,
                          axis_separators=[1])  # fmt: skip
    func = tir.PrimFunc(
        [V, A, shared, odd, x, V.data.copy_with_name("ptr")], tir.Evaluate(0), PrimType("int32"),
        attrs={"global_symbol": "main", "b": 1, "a": [1, 2.5, {"k": None}]},
    )  # fmt: skip
    assert str(func) == (
        "# from tvm.script import tir as T\n"
        "\n"
        "@T.prim_func\n"
        'def main(V: T.Buffer((16,), "float32"), A: T.handle, B: T.handle, C: T.handle, '
        'x: T.int32, ptr: T.handle("float32", "global")) -> T.int32:\n'
        '    T.func_attr({"a": [1, 2.5, {"k": None}], "b": 1})\n'
        "    A_1 = T.match_buffer(A, (16, 16))\n"
        "    B_1 = T.match_buffer(B, (8,), data=A_1.data)\n"
        "    n = T.int64()\n"
        '    C_1 = T.match_buffer(C, (n, 4), "bool", scope="shared", align=16, '
        "axis_separators=[1])\n"
        "    T.evaluate(0)"
    )


def test_the_implicit_root_is_a_comment_only_where_it_reads_back() -> None:
    inner = block([tir.IterVar(Range(0, 8), tir.Var("v", "int32"), 0)], [0])
    opaque = block([], [])

    def head(body: Any, **more: Any) -> str:
        root = tir.BlockRealize([], True, tir.Block([], [], [], "root", body, **more))
        return str(tir.PrimFunc([], root)).split("\n")[4].strip()

    assert head(inner) == '# with T.block("root"):'
    assert head(opaque) == 'with T.block("root"):'
    assert head(tir.SeqStmt([opaque, opaque])) == '# with T.block("root"):'
    assert head(tir.Evaluate(0), alloc_buffers=[V]) == '# with T.block("root"):'
    assert head(tir.Evaluate(0)) == 'with T.block("root"):'
    assert head(inner, annotations={"k": 1}) == 'with T.block("root"):'


def test_names_of_builders_show() -> None:
    with IRBuilder() as ib:
        with B.grid(4, 4) as (i, j):
            ib.name_many(["i", "j"], [i, j])
            B.evaluate(i + j)
    assert shown(ib.get()) == "for i, j in T.grid(4, 4):\n    T.evaluate(i + j)"
    assert T.int32.__name__ == "int32"


def test_a_handle_that_the_body_uses_is_matched_in_the_body() -> None:
    handle = tir.Var("a", "handle")
    func = tir.PrimFunc(
        [handle], tir.Evaluate(handle), None, {handle: tir.decl_buffer((4,), "float32", "A")}
    )
    text = func.script()
    assert "def main(a: T.handle):\n    A = T.match_buffer(a, (4,))\n    T.evaluate(a)" in text
    assert_structural_equal(func, from_source(text))


def test_free_variables_of_bindings_stand_before_the_block() -> None:
    i = tir.Var("i", "int32")
    axis = tir.IterVar((0, 8), "vi", tir.IterVar.DataPar)
    block = tir.Block([axis], [], [], "b", tir.Evaluate(axis.var))
    text = tir.BlockRealize([i], True, block).script()
    assert text.startswith('i = T.int32()\nwith T.block("b"):\n    vi = T.axis.spatial(8, i)\n')


def test_infinity_keeps_its_word_where_floats_go_without() -> None:
    x = tir.Var("x", "float32")
    assert tir.Add(x, tir.const(1.0)).script(float_dtype="float32") == "x + 1.0"
    text = tir.Add(x, tir.const(float("inf"), "float32")).script(float_dtype="float32")
    assert text == 'x + T.float32("inf")'


def test_sizes_that_one_buffer_brings_are_declared_together() -> None:
    n, m, k = tir.Var("n", "int32"), tir.SizeVar("m", "int32"), tir.Var("k", "int64")
    handles = [tir.Var(name, "handle") for name in "abc"]
    buffers = [tir.decl_buffer(shape, name=name) for name, shape in
               zip("ABC", [(n, m), (n, k), (n * 2, k + 1)])]  # fmt: skip
    func = tir.PrimFunc(handles, tir.Evaluate(0), buffer_map=dict(zip(handles, buffers)))
    assert func.script().split("\n")[4:] == [
        "    n, m = T.int32(), T.int32(is_size_var=True)",
        "    A = T.match_buffer(a, (n, m))",
        "    k = T.int64()",
        "    B = T.match_buffer(b, (n, k))",
        "    C = T.match_buffer(c, (n * 2, k + T.int64(1)))",
        "    T.evaluate(0)",
    ]


def test_free_sizes_of_a_buffer_are_declared_in_one_line() -> None:
    n, m, k, s = (tir.Var(name, "int64") for name in "nmks")

    def head(*shape: Any, **options: Any) -> list[str]:
        a = tir.Var("a", "handle")
        buffer = tir.decl_buffer(shape, "float32", "A", **options)
        func = tir.PrimFunc([a], tir.Evaluate(0), buffer_map={a: buffer})
        lines = func.script().splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("def "))
        return [line.strip() for line in lines[start + 1 : -1]]

    assert head(n, m) == ["n, m = T.int64(), T.int64()", "A = T.match_buffer(a, (n, m))"]
    assert head(n, 4)[0] == "n = T.int64()"
    # those within an expression come one by one before, and are not declared again
    assert head(n, m + k, k)[:3] == ["m = T.int64()", "k = T.int64()", "n = T.int64()"]
    assert head(n + 1, m, n)[:2] == ["n = T.int64()", "m = T.int64()"]
    # strides of the buffer's own are no sizes
    own = head(n, m, strides=[s, 1])
    assert own == ["n, m = T.int64(), T.int64()",
                   'A = T.match_buffer(a, (n, m), strides=("s", 1))']  # fmt: skip
    narrow = tir.Var("w", "int32")
    assert head(n, m, strides=[narrow, 1])[0] == "n, m, w = T.int64(), T.int64(), T.int32()"


def test_parameters_of_maps_avoid_the_names_around_them() -> None:
    def swap() -> tir.IndexMap:
        return tir.IndexMap.from_func(lambda x, y: [y, x])

    inner = tir.For(y, 0, 2, 0, tir.Evaluate(0), annotations={"m": swap()})
    assert "lambda x, y_1: (y_1, x)" in str(inner), "the loop's own name is taken"
    outer = tir.For(x, 0, 4, 0, inner, annotations={"m": swap()})
    assert "lambda x_1, y: (y, x_1)" in str(outer)
    assert "lambda x_1, y_1: (y_1, x_1)" in str(outer)
    free = tir.For(x, 0, y, 0, tir.Evaluate(x), annotations={"m": y})
    assert str(free).startswith("y = T.int32()")
