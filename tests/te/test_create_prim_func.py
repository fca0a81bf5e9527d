from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir, topi
from tvm.error import TVMError
from tvm.script import tir as T
from tvm.tir import interp
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


def check(tensors: list[te.Tensor], expected: tir.PrimFunc, dtype: str | None = None) -> None:
    func = te.create_prim_func(tensors, dtype)
    tvm.ir.assert_structural_equal(func, expected.with_attr("global_symbol", "main"))


def matmul() -> list[te.Tensor]:
    a, b = te.placeholder((128, 64), name="A"), te.placeholder((64, 32), name="B")
    k = te.reduce_axis((0, 64), "k")
    return [a, b, te.compute((128, 32), lambda x, y: te.sum(a[x, k] * b[k, y], axis=k), name="C")]


def test_matmul() -> None:
    @T.prim_func
    def expected(
        A: T.Buffer((128, 64), "float32"),
        B: T.Buffer((64, 32), "float32"),
        C: T.Buffer((128, 32), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        for x, y, k in T.grid(128, 32, 64):
            with T.block("C"):
                v_x, v_y, v_k = T.axis.remap("SSR", [x, y, k])
                T.reads(A[v_x, v_k], B[v_k, v_y])
                T.writes(C[v_x, v_y])
                with T.init():
                    C[v_x, v_y] = T.float32(0)
                C[v_x, v_y] = C[v_x, v_y] + A[v_x, v_k] * B[v_k, v_y]

    check(matmul(), expected)


def test_symbolic_stages_and_scalar_arguments() -> None:
    n, s = te.size_var("n"), te.var("s", "float32")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * s, name="B")
    c = te.compute((n,), lambda i: b[i] + 1.0, name="C")
    func = te.create_prim_func([s, a, c])
    assert [p.name for p in func.params] == ["s", "var_A", "var_C"]
    assert [buf.name for buf in func.body.block.alloc_buffers] == ["B"]
    x, out = np.arange(3, dtype="float32"), np.empty(3, "float32")
    interp.run(func, 2.0, x, out)
    np.testing.assert_array_equal(out, x * 2 + 1)


def test_stage_without_axes() -> None:
    @T.prim_func
    def expected(a: T.Buffer((), "int32"), b: T.Buffer((), "int32"), c: T.Buffer((), "int32")):
        T.func_attr({"tir.noalias": True})
        with T.block("c"):
            vi = T.axis.spatial(1, 0)
            T.reads(a[()], b[()])
            T.writes(c[()])
            c[()] = a[()] + b[()]

    a, b = te.placeholder((), "int32", name="a"), te.placeholder((), "int32", name="b")
    check([a, b, te.compute((), lambda: a() + b(), name="c")], expected)


def test_reducer_with_two_results() -> None:
    n = te.size_var("n")
    idx = te.placeholder((n, 4), "int32", name="idx")
    val = te.placeholder((n, 4), "float32", name="val")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda a, b: (tir.const(-1, a), te.min_value(b)),
    )
    k = te.reduce_axis((0, 4), "k")
    out = te.compute((n,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="best")

    @T.prim_func
    def expected(var_idx: T.handle, var_val: T.handle, var_v0: T.handle, var_v1: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int32(is_size_var=True)
        idx = T.match_buffer(var_idx, (n, 4), "int32")
        val = T.match_buffer(var_val, (n, 4))
        best_v0 = T.match_buffer(var_v0, (n,), "int32")
        best_v1 = T.match_buffer(var_v1, (n,))
        for i, k in T.grid(n, 4):
            with T.block("best"):
                v_i, v_k = T.axis.remap("SR", [i, k])
                T.reads(val[v_i, v_k], idx[v_i, v_k])
                T.writes(best_v0[v_i], best_v1[v_i])
                with T.init():
                    best_v0[v_i] = -1
                    best_v1[v_i] = T.min_value("float32")
                v_best_v0: T.int32 = T.Select(
                    best_v1[v_i] >= val[v_i, v_k], best_v0[v_i], idx[v_i, v_k]
                )
                v_best_v1: T.float32 = T.Select(
                    best_v1[v_i] >= val[v_i, v_k], best_v1[v_i], val[v_i, v_k]
                )
                best_v0[v_i] = v_best_v0
                best_v1[v_i] = v_best_v1

    check([idx, val, *out], expected)


def test_domains_that_depend_on_axes_nest() -> None:
    x = te.placeholder((1, 2, 5, 7), name="x")
    func = te.create_prim_func([x, topi.nn.adaptive_pool(x, [3, 4], "avg")])
    names = [b.name_hint for b in tir.functor.walk(func) if isinstance(b, tir.Block)]
    assert names == ["root", "adaptive_pool_sum_l1", "adaptive_pool_sum", "adaptive_pool_avg"]
    data = np.random.default_rng(0).random((1, 2, 5, 7), "float32")
    out = np.empty((1, 2, 3, 4), "float32")
    interp.run(func, data, out)
    np.testing.assert_allclose(out[0, 0, 0, 0], data[0, 0, :2, :2].mean(), rtol=1e-6)
    np.testing.assert_allclose(out[0, 1, 2, 3], data[0, 1, 3:, 5:].mean(), rtol=1e-6)


def test_names_of_blocks_are_fresh() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1)
    c = te.compute((4,), lambda i: b[i] * 2)
    func = te.create_prim_func([a, c])
    names = [b.name_hint for b in tir.functor.walk(func) if isinstance(b, tir.Block)]
    assert names == ["root", "compute", "compute_1"]


def test_layout_free_placeholders_become_an_attribute() -> None:
    a, b = te.placeholder((4, 8), name="A"), te.placeholder((3, 8), name="B")
    func = te.create_prim_func([a, b, topi.nn.dense(a, b)])
    assert tuple(func.attrs["layout_free_buffers"]) == (1,)
    block = func.body.block.body.body.body.body.block
    assert dict(block.annotations) == {}


def test_condition_and_start_of_a_reduction() -> None:
    a, k = te.placeholder((3, 8), name="A"), te.reduce_axis((0, 8), "k")
    b = te.compute((3,), lambda i: te.sum(a[i, k], axis=k, where=k < 4, init=10.0), name="B")
    x, out = np.ones((3, 8), "float32"), np.empty(3, "float32")
    interp.run(te.create_prim_func([a, b]), x, out)
    np.testing.assert_array_equal(out, [14, 14, 14])


def test_extern_stage_between_computed_ones() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")

    def body(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        i = tir.Var("i", "int32")
        store = tir.BufferStore(outs[0], tir.BufferLoad(ins[0], [3 - i]), [i])
        return tir.For(i, 0, 4, 0, store)

    c = te.extern(
        (4,), [b], body, name="c", dtype="float32",
        out_buffers=[tir.decl_buffer((4,), name="c")], in_buffers=[tir.decl_buffer((4,), name="b")],
    )  # fmt: skip
    func = te.create_prim_func([a, c])
    x, out = np.arange(4, dtype="float32"), np.empty(4, "float32")
    interp.run(func, x, out)
    np.testing.assert_array_equal(out, x[::-1] + 1)


def test_extern_primfunc_is_inlined() -> None:
    @T.prim_func
    def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] * T.float32(2)

    a = te.placeholder((4,), name="a")
    b = te.extern_primfunc([topi.add(a, 1.0)], double)
    x, out = np.arange(4, dtype="float32"), np.empty(4, "float32")
    interp.run(te.create_prim_func([a, b]), x, out)
    np.testing.assert_array_equal(out, (x + 1) * 2)


def test_long_chain_of_stages() -> None:
    a = x = te.placeholder((2,), name="a")
    for _ in range(3000):
        x = te.compute((2,), (lambda t: lambda i: t[i] + 1.0)(x), name="s")
    func = te.create_prim_func([a, x])
    assert len(func.body.block.alloc_buffers) == 2999


def test_refuses() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i], name="b")
    with pytest.raises(TVMError, match=r"does not appear as a function argument"):
        te.create_prim_func([b])
    with pytest.raises(TypeError, match=r"found: a int\n.*legal: te.Tensor, tir.Var"):
        te.create_prim_func([3])
    state = te.placeholder((3, 4), name="s")
    first = te.compute((1, 4), lambda t, i: a[i])
    step = te.compute((3, 4), lambda t, i: state[t - 1, i])
    with pytest.raises(TypeError, match=r"Unsupported Operation: te\.ScanOp\."):
        te.create_prim_func([a, state, te.scan(first, step, state)])


def test_an_extern_stage_between_others_works_on_memory_of_the_function() -> None:
    a = te.placeholder((4,), name="a")
    doubled = te.compute((4,), lambda i: a[i] * 2.0, name="doubled")
    turned = te.extern(
        (4,), [doubled], lambda ins, outs: tir.call_packed("testing.turn", ins[0], outs[0])
    )
    out = te.compute((4,), lambda i: turned[i] + 1.0, name="out")
    func = te.create_prim_func([a, out])
    own = [buffer.data for buffer in func.buffer_map.values()]
    assert not tir.analysis.undefined_vars(func.body, [*func.params, *own])


def test_a_lone_extern_stage_is_the_root_and_names_no_regions() -> None:
    a = te.placeholder((8,), name="A")
    b = te.extern((8,), [a], lambda i, o: tir.call_packed("f", i[0], o[0]), name="B")
    root = te.create_prim_func([a, b]).body.block
    assert root.name_hint == "B"
    assert (*root.reads, *root.writes) == ()
    c = te.compute((8,), lambda i: b[i] + 1.0, name="C")
    inner = te.create_prim_func([a, c]).body.block.body.seq[0].block
    assert [region.buffer.name for region in (*inner.reads, *inner.writes)] == ["A", "B"]


def test_a_reduction_over_another_one_stands_below_it() -> None:
    z = te.placeholder((6, 6, 6), name="Z")

    def triangle(i: tir.Var) -> tir.PrimExpr:
        r1 = te.reduce_axis((0, i), "r1")
        r2 = te.reduce_axis((0, r1), "r2")
        return te.sum(z[i, r1, r2], [r1, r2])

    w = te.compute((6,), triangle, name="W")
    func = te.create_prim_func([z, w])
    given, found = np.random.default_rng(3).random((6, 6, 6), "float32"), np.zeros(6, "float32")
    interp.run(func, given, found)
    wanted = [sum(given[i, a, b] for a in range(i) for b in range(a)) for i in range(6)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    # the result is started once, by the outermost block with a reduction axis
    blocks = [node for node in walk(func.body) if isinstance(node, tir.Block)]
    starts = [block.name_hint for block in blocks if block.init is not None]
    assert starts == ["W_l2"]
    (outer,) = [block for block in blocks if block.name_hint == "W_l1"]
    assert [str(region) for region in outer.reads] == ["Z[v_i, 0:v_i, 0:v_i - 1]"]


def test_indices_through_floats_read_the_whole_axis() -> None:
    g = te.placeholder((64, 4), name="G")

    def nearest(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        at = tir.Cast("int64", tir.round(tir.Cast("float32", i) * 0.5))
        return g[tir.max(tir.min(at, 63), 0), j]

    func = te.create_prim_func([g, te.compute((64, 4), nearest, name="H")])
    (block,) = [n for n in walk(func.body) if isinstance(n, tir.Block) and n.name_hint == "H"]
    assert [str(region) for region in block.reads] == ["G[T.int64(0):T.int64(64), v_j]"]
    free = te.compute((64, 4), lambda i, j: g[tir.round(i * 0.5).astype("int32"), j], name="H")
    wide = tir.Var("n", "int64")
    q = te.placeholder((wide,), name="Q")
    any_one = te.compute((wide,), lambda i: q[tir.round(i * 0.5).astype("int64")], name="H")
    for stage, sources, text in ((free, [g], "G[0:64, v_j]"), (any_one, [q], "Q[0:n]")):
        func = te.create_prim_func([*sources, stage])
        (block,) = [n for n in walk(func.body) if isinstance(n, tir.Block) and n.name_hint == "H"]
        assert [str(region) for region in block.reads] == [text]
        assert block.reads[0].region[0].min.dtype == "int32"


def test_layout_free_stages_stay_on_their_block() -> None:
    a = te.placeholder((4,), name="A")
    p = te.compute((4,), lambda i: a[i] * 2.0, name="P")
    q = te.compute(
        (4,), lambda i: p[i] + a[i], name="Q", attrs={"layout_free_placeholders": [p, a]}
    )
    func = te.create_prim_func([a, q])
    assert list(func.attrs["layout_free_buffers"]) == [0]
    notes = {
        node.name_hint: dict(node.annotations)
        for node in walk(func.body)
        if isinstance(node, tir.Block)
    }
    assert [buffer.name for buffer in notes["Q"]["layout_free_placeholders"]] == ["P"]
    assert notes["P"] == notes["root"] == {}


def test_a_reduction_over_nothing_gives_its_identity() -> None:
    a = te.placeholder((3, 0), name="a")
    k = te.reduce_axis((0, 0), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), "product")
    out = np.zeros(3, "float32")
    func = te.create_prim_func([a, te.compute((3,), lambda i: product(a[i, k], axis=k))])
    tir.interp.run(func, np.zeros((3, 0), "float32"), out)
    assert out.tolist() == [1, 1, 1]


def test_a_result_is_a_parameter_once() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(ValueError, match="the result 'B' is listed twice"):
        te.create_prim_func([a, b, b])


@pytest.mark.cpu
@pytest.mark.parametrize("kind", ["serial", "vectorized", "unroll"])
@pytest.mark.parametrize("target", ["llvm", "llvm -opt-level=0", "c"])
def test_data_that_is_nan_is_found_and_stays(kind: str, target: str) -> None:
    a = te.placeholder((16,), "float32", name="a")

    def cleaned(i: tir.Var) -> tir.PrimExpr:
        return tir.Select(tir.NE(a[i], a[i]), tir.const(0, "float32"), a[i] - a[i])

    sch = tir.Schedule(te.create_prim_func([a, te.compute((16,), cleaned, name="b")]))
    (loop,) = sch.get_loops(sch.get_block("b"))
    if kind != "serial":
        getattr(sch, kind if kind == "unroll" else "vectorize")(loop)
    given = np.array([np.nan, 1, np.inf, -2] * 4, "float32")
    out = tvm.runtime.empty((16,), "float32")
    tvm.compile(sch.mod, target)["main"](tvm.runtime.tensor(given), out)
    np.testing.assert_array_equal(out.numpy(), np.array([0, 0, np.nan, 0] * 4, "float32"))


def test_outer_blocks_have_the_attributes_of_the_stage() -> None:
    x = te.placeholder((1, 2, 9), name="x")
    func = te.create_prim_func([x, topi.nn.adaptive_pool1d(x, (4,), "max")])
    blocks = [node for node in walk(func.body) if isinstance(node, tir.Block)]
    rules = {b.name_hint: b.annotations.get("schedule_rule") for b in blocks}
    rule = "meta_schedule.adaptive_pool_max"
    assert rules == {"root": None, "adaptive_pool_max_l1": rule, "adaptive_pool_max": rule}
