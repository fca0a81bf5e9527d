"""Statements of TensorIR are read as TVM reads them."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.error import DiagnosticError
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def body(text: str, params: str = 'A: T.Buffer((16,), "float32"), n: T.int32') -> str:
    """The printed body of a function with the given body."""
    indented = "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))
    func = from_source(f"@T.prim_func\ndef main({params}):\n{indented}\n", check_well_formed=False)
    return "\n".join(line[4:] for line in func.script().split("\n")[4:])


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("A[0] = 1", "A[0] = T.float32(1.0)"),
        ("A[n] += A[0]", "A[n] = A[n] + A[0]"),
        ("A[0:4] = A[4:8]", "A[0:4] = A[4:8]"),
        ("A[0:8:2] = T.Broadcast(1.0, 4)", "A[0:8:2] = T.Broadcast(T.float32(1.0), 4)"),
        ("A[:4] = A[12:]", "A[0:4] = A[12:16]"),
        ("A[n:n + 4] = T.broadcast(2.0, 4)", "A[n:n + 4] = T.Broadcast(T.float32(2.0), 4)"),
        ("x = n + 1\nA[x] = A[0]", "x: T.int32 = n + 1\nA[x] = A[0]"),
        ("x: T.int64 = T.Cast('int64', n)\nA[x] = A[0]",
         'x: T.int64 = T.Cast("int64", n)\nA[x] = A[0]'),
        ("x = 3\nx *= n\nA[x] = A[0]",
         "x: T.int32 = 3\nx_1: T.int32 = x * n\nA[x_1] = A[0]"),
        ("x = T.meta_var(n * 2)\nA[x] = A[0]", "A[n * 2] = A[0]"),
        ("for i in range(n):\n    A[i] = A[i]", "for i in range(n):\n    A[i] = A[i]"),
        ("for i in range(2, n):\n    A[i] = A[i]",
         "for i in range(2, 2 + (n - 2)):\n    A[i] = A[i]"),
        ("for i in range(T.int64(4)):\n    A[i] = A[i]",
         "for i in range(T.int64(4)):\n    A[i] = A[i]"),
        ("for k in T.thread_binding(8, 'threadIdx.x'):\n    A[k] = A[k]",
         'for k in T.thread_binding(8, thread="threadIdx.x"):\n    A[k] = A[k]'),
        ("for i, j in T.grid(2, 3):\n    T.evaluate(i + j)",
         "for i, j in T.grid(2, 3):\n    T.evaluate(i + j)"),
        ("for ij in T.grid(2, 3):\n    A[ij[0]] = A[ij[1]]",
         "for ij_0, ij_1 in T.grid(2, 3):\n    A[ij_0] = A[ij_1]"),
        ("while n < 3 and not A[0] == 1.0:\n    T.evaluate(0)",
         "while n < 3 and not A[0] == T.float32(1.0):\n    T.evaluate(0)"),
        ("if n < 3:\n    A[0] = 1.0\nelif n < 5:\n    A[1] = 1.0\nelse:\n    A[2] = 1.0",
         "if n < 3:\n    A[0] = T.float32(1.0)\nelse:\n    if n < 5:\n"
         "        A[1] = T.float32(1.0)\n    else:\n        A[2] = T.float32(1.0)"),
        ("if 1 < 2:\n    A[0] = 1.0\nelse:\n    A[1] = 1.0", "A[0] = T.float32(1.0)"),
        ("A[0] = A[1] if n < 3 else A[2]", "A[0] = T.if_then_else(n < 3, A[1], A[2])"),
        ("with T.attr('x', 'k', n), T.LetStmt(3) as q:\n    A[q] = A[0]",
         'T.attr("x", "k", n)\nq: T.int32 = 3\nA[q] = A[0]'),
        ("B = T.decl_buffer((4,), data=A.data)\nB[0] = 1.0",
         "B = T.decl_buffer((4,), data=A.data)\nB[0] = T.float32(1.0)"),
        ("tx = T.launch_thread('threadIdx.x', 32)\nA[tx] = A[0]",
         'tx = T.launch_thread("threadIdx.x", 32)\nA[tx] = A[0]'),
        ("tx = T.env_thread('threadIdx.x')\nT.launch_thread(tx, 4)\nA[tx] = A[0]",
         'tx = T.launch_thread("threadIdx.x", 4)\nA[tx] = A[0]'),
        ("T.launch_thread('vthread.x', 2)\nA[0] = A[1]",
         'vthread_x = T.launch_thread("vthread.x", 2)\nA[0] = A[1]'),
        ("A.vstore([T.Ramp(0, 1, 4)], A.vload([0], 'float32x4'))", "A[0:4] = A[0:4]"),
        ("T.evaluate(-n)", "T.evaluate(n * -1)"),
        ("T.evaluate(n ** 2)", "T.pow(n, 2)"),
        ("n + 1", "T.evaluate(n + 1)"),
        ("'text that documents'\nT.evaluate(T.min_value('int8'))", "T.evaluate(T.int8(-128))"),
        ("T.evaluate(T.max(n, T.int32(3)))", "T.evaluate(T.max(n, 3))"),
        ("T.evaluate(T.float32x4(n))", 'T.evaluate(T.Broadcast(T.Cast("float32", n), 4))'),
        ("T.evaluate(T.Let(n + m, where={m: 3}))".replace("m", "n"),
         "T.evaluate(T.Let(n + n, where={n: 3}))"),
        ("while True:\n    if n < 2:\n        break\n    continue",
         "while T.bool(True):\n    if n < 2:\n        T.break_loop()\n    T.continue_loop()"),
        ("T.func_attr({'k': [T.float32(1), 'x']})\nT.evaluate(0)",
         'T.func_attr({"k": [T.float32(1.0), "x"]})\nT.evaluate(0)'),
    ],
)  # fmt: skip
def test_statements(text: str, printed: str) -> None:
    assert body(text) == printed


def test_annotations_of_parameters() -> None:
    params = 'a: T.handle, B: T.Buffer[(4, 4), "int8"], p: T.Ptr("float32"), n: T.int64, c: T.bool'
    func = from_source(f"@T.prim_func\ndef main({params}) -> T.int32:\n    return 3\n")
    assert func.script().split("\n")[3] == (
        'def main(a: T.handle, B: T.Buffer((4, 4), "int8"), p: T.handle("float32", "global"), '
        "n: T.int64, c: T.bool) -> T.int32:"
    )


N = 8
Shared = T.Buffer((N,), "float32")


def test_programs_see_python_around_them() -> None:
    scale = 3

    def index(i):
        return i * scale

    @T.prim_func
    def func(A: Shared, B: Shared):
        for i in range(N // 2):
            A[index(i)] = B[i] * T.float32(scale) + sum([T.Cast("float32", k * i) for k in (1, 2)])

    a, b = func.buffer_map.values()
    assert a is not b
    assert "A[i * 3] = B[i] * T.float32(3.0) + (T.Cast(" in func.script()


def test_private_functions_have_no_symbol() -> None:
    @T.prim_func(private=True)
    def func():
        T.evaluate(0)

    assert "global_symbol" not in func.attrs


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A[0, 1] = 1.0", "cannot be indexed with the 2-dimensional indices"),
        ("for i in [1, 2]:\n    A[i] = 1.0", "Expect the for loop to be one of the following"),
        ("for i, j in T.grid(4):\n    A[i] = 1.0", "cannot unpack"),
        ("for i, j in T.grid(1, 2, 3):\n    A[i] = 1.0", "cannot unpack 3 values to 2 names"),
        ("x = y = 3", "Consequential assignments like 'a = b = c' are not supported"),
        ("T.match_buffer(A, (4,))", "is no buffer region|Can not bind|T.match_buffer needs"),
        ("m = T.int32()\nT.match_buffer(m, (4,))", "Can not bind non-input"),
        ("with T.block():\n    T.reads(A[0])\n    T.reads(A[0])", "Duplicate read region"),
        ("with T.block():\n    T.where(1)\n    T.where(1)", "Duplicate block predicate"),
        ("with T.block():\n    T.axis.remap('X', [n])", "unknown axis kind 'X'"),
        ("with T.block():\n    T.axis.remap('S', [n])", "is no variable of an enclosing loop"),
        ("with T.block():\n    T.axis.remap('S', [n + 1])", "Only Var is supported"),
        ("with T.init():\n    A[0] = 1.0", "needs to be directly under T.block"),
        ("with n:\n    A[0] = 1.0", "Invalid context expression in the with-statement"),
        ("T.func_attr({'k': 1})\nT.func_attr({'k': 1})", "Duplicate prim func annotation"),
        ("with T.block():\n    T.func_attr({'k': 1})", "must be called at the top of a PrimFunc"),
        ("for i in range(2):\n    T.func_name('g')", "must be called at the top of a PrimFunc"),
        ("T.launch_thread(n, 4)", "is not an env_thread"),
        ("T.thread_binding(4)", "Thread cannot be None"),
        ("return", "must be a PrimExpr"),
        ("x: 3 = 4", "the annotation of a variable is a type"),
        ("if 'a':\n    A[0] = 1.0", "If condition must be a boolean expression"),
        ("len(T.grid)", "has no len"),
        ("{1: 2}", "Parsing resulted in unexpected type"),
        ("A[0] = A[1] and A[2]", "legal: bool"),
        ("def g():\n    pass", "cannot contain another function|must be decorated"),
        ("T.iter_var(n, T.Range(0, 3), 'What', '')", "unknown iteration type 'What'"),
        ("n[0] = 1.0", "only elements of a buffer are stored to"),
        ("A[0] = n / n", "multiple types of integer divisions"),
        ("T.reinterpret('float64', n)", "differ in size"),
        ("for i in range(4):\n    A[i] = A[0]\nelse:\n    A[0] = A[1]",
         r"(?s)the else branch of a loop has no meaning.*<str>:6:9"),
        ("while n < 4:\n    A[n] = A[0]\nelse:\n    A[0] = A[1]",
         r"(?s)the else branch of a loop has no meaning.*<str>:6:9"),
        ("break", "break is not within a loop"),
        ("if n < 4:\n    continue", "continue is not within a loop"),
    ],
)
def test_mistakes(text: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        body(text)


@pytest.mark.parametrize(
    ("signature", "wanted"),
    [
        ("A", "Type annotation required for function parameters"),
        ("A: 3", "a parameter is annotated by"),
        ("*A: T.int32", "plain positional parameters only"),
        ("A: T.int32 = 3", "plain positional parameters only"),
    ],
)
def test_mistakes_in_signatures(signature: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        from_source(f"@T.prim_func\ndef main({signature}):\n    T.evaluate(0)\n")


@pytest.mark.parametrize(
    "body",
    [
        "n = n + 1",
        "A = T.alloc_buffer((8,))\n    A = T.alloc_buffer((8,))",
        "m = n\n    m: T.int32 = n",
        "with T.block():\n        i = T.axis.S(16, n)\n        i = T.axis.S(16, n)",
    ],
)
def test_a_scope_defines_a_name_once(body: str) -> None:
    text = f"@T.prim_func\ndef main(n: T.int32):\n    {body}\n    T.evaluate(n)\n"
    with pytest.raises(DiagnosticError, match=r"Variable \w+ already defined in current scope"):
        from_source(text)


def test_inner_scopes_and_updates_may_use_a_name_again() -> None:
    func = from_source(
        "@T.prim_func\ndef main(n: T.int32):\n    for i in range(4):\n        n = i\n"
        "        T.evaluate(n)\n    n += 1\n    T.evaluate(n)\n"
    )
    loop, let = func.body.seq
    assert loop.body.body.value is loop.body.var
    assert isinstance(let, tir.LetStmt)
    assert let.body.value is let.var
    assert_structural_equal(from_source(func.script()), func)


def test_an_undefined_name_is_one_mistake() -> None:
    text = "@T.prim_func\ndef main(n: T.int32):\n    T.evaluate(n + m)\n    T.evaluate(m)\n"
    with pytest.raises(DiagnosticError) as caught:
        from_source(text)
    assert str(caught.value).count("Undefined variable: m") == 1


def test_regions_have_no_steps() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((128,))):
    with T.block("b"):
        T.writes(A[0:128:2])
        T.evaluate(0)
"""
    with pytest.raises(DiagnosticError, match="a region has no steps, found 2"):
        from_source(text)


def test_realize_takes_a_region() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((128,))):\n    T.realize(A, "")\n    T.evaluate(0)\n'
    with pytest.raises(DiagnosticError, match="takes a region such as A"):
        from_source(text)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("x: T.int32 = A[0]", "variable x is int32, its value is float32"),
        ("with T.LetStmt(A[0], var=T.int32()) as x:\n        T.evaluate(x)", "value is float32"),
        ("assert A[0], 'text'", "the condition is float32"),
        ("assert n < 1, A[0]", "the message is float32"),
        ("with T.block():\n        T.where(A[0])", "the predicate is float32"),
        ("with T.block() as (x, y):\n        T.evaluate(0)", "cannot unpack a BlockFrame"),
    ],
)
def test_what_a_scope_refuses_is_told_where_it_was_said(statement: str, wanted: str) -> None:
    text = (
        '@T.prim_func\ndef main(A: T.Buffer((4,), "float32"), n: T.int32):\n    T.evaluate(n)\n'
        f"    {statement}\n    T.evaluate(n)\n"
    )
    with pytest.raises(DiagnosticError, match=wanted) as caught:
        from_source(text)
    line = 5 if "T.where" in statement else 4
    assert f"<str>:{line}:" in str(caught.value)


def test_annotations_of_a_block_are_merged() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")) -> None:
        with T.block("b"):
            T.block_attr({"k": {"a": 1, "n": {"x": 1}}})
            T.block_attr({"k": {"b": 2, "n": {"y": 2}}, "j": 3})
            A[0] = T.float32(1)

    notes = func.body.block.annotations
    assert notes == {"k": {"a": 1, "b": 2, "n": {"x": 1, "y": 2}}, "j": 3}
    with pytest.raises(DiagnosticError, match=r"Duplicate block annotation for key = 'k\.a'"):
        from_source(
            "@T.prim_func\ndef f():\n    with T.block():\n"
            "        T.block_attr({'k': {'a': 1}})\n        T.block_attr({'k': {'a': 2}})\n"
        )


def test_buffers_of_a_loop_belong_to_the_block_around_it() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")) -> None:
        with T.block("b"):
            for i in range(4):
                B = T.alloc_buffer((4,))
                B[i] = A[i]

    assert [buffer.name for buffer in func.body.block.alloc_buffers] == ["B"]


def test_intrinsics_are_looked_up_while_reading() -> None:
    from tvm.target import codegen

    @T.prim_func
    def func() -> None:
        T.evaluate(T.llvm_lookup_intrinsic_id("llvm.ctpop.i16"))

    assert func.body.value.value == codegen.llvm_lookup_intrinsic_id("llvm.ctpop.i16")


@pytest.mark.parametrize("parallel", [False, True])
def test_loops_that_python_chooses(parallel):
    """Whatever names `range` where a loop is called for means the serial loop."""
    chosen = T.parallel if parallel else range

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int32):
        for i in chosen(n):
            A[i] = 1.0
        for i in (T.parallel if parallel else range)(8):
            A[i] = 2.0
        for i in T.parallel(n) if parallel else range(n):
            A[i] = 3.0
        for i, j in T.grid(*[k for k in range(2, 4)]):
            A[i + j] = 4.0

    kind = tir.ForKind.PARALLEL if parallel else tir.ForKind.SERIAL
    assert [loop.kind for loop in main.body.seq[:3]] == [kind] * 3
    assert main.body.seq[3].extent.value == 2


@pytest.mark.parametrize("value", ["T.float32(1)", "1.0", "A[0:3]"])
def test_slices_take_vectors_of_their_length(value: str) -> None:
    program = f"@T.prim_func\ndef f(A: T.Buffer((8,))):\n    A[0:4] = {value}\n"
    with pytest.raises(DiagnosticError):
        from_source(program)


def test_memory_may_be_asked_for_in_a_loop() -> None:
    @T.prim_func
    def written(A: T.Buffer((4,), "float32")):
        for i in range(4):
            B = T.alloc_buffer((4,), "float32")
            with T.block("x"):
                B[i] = A[i]

    @T.prim_func
    def meant(A: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("x"):
                B[i] = A[i]

    assert_structural_equal(written, meant.with_attr("global_symbol", "written"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for i in range(4):\n        A = T.match_buffer(a, (4,))", "at the top of a PrimFunc"),
        ("A = T.match_buffer(a, (4,), buffer_type='row')", "buffer_type is 'row'; legal: 'def"),
        ("T.attr(0, 1, 2)", "AttrStmt: attr_key is a int: 1; legal: str"),
    ],
)
def test_what_a_function_may_not_say(body: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        from_source(f"@T.prim_func\ndef f(a: T.handle):\n    {body}\n    T.evaluate(0)\n")
