"""`node.script(...)`: headers, free variables, metadata, marks."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax, tir
from tvm.ir import IRModule
from tvm.ir.access_path import AccessPath
from tvm.script import tir as T
from tvm.script.printer import script, script_of
from tvm.script.printer.config import PrinterConfig

pytestmark = pytest.mark.pure


def func() -> tir.PrimFunc:
    a = tir.decl_buffer((4,), "float32", "A")
    store = tir.BufferStore(a, a[1] + 1.0, [0])
    return tir.PrimFunc([a], store, attrs={"global_symbol": "main"})


def test_blocks_are_marked_with_their_bindings() -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")) -> None:
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                A[vi] = 1.0

    block = f.body.block.body.body.block
    lines = f.script(obj_to_annotate={block: "here"}, obj_to_underline=[block]).splitlines()
    at = lines.index("        # here")
    assert lines[at + 1 : at + 3] == ['        with T.block("B"):', "        " + "^" * 18]
    plain = f.script(obj_to_underline=[f.body.block], syntax_sugar=False)
    assert '    with T.block("root"):\n    ' + "^" * 21 in plain


def test_expressions_show_free_variables_on_request() -> None:
    n = tir.Var("n", "int64")
    assert str(n + 1) == "n + T.int64(1)"
    assert (n + 1).script(verbose_expr=True) == "n = T.int64()\nn + T.int64(1)"


def test_headers_name_the_dialects_in_use() -> None:
    assert func().script(tir_prefix="tt").startswith("# from tvm.script import tir as tt\n\n@tt.")
    text = IRModule({"main": func()}).script(ir_prefix="ii")
    assert text.split("\n")[:5] == [
        "# from tvm.script import ir as ii", "# from tvm.script import tir as T", "",
        "@ii.ir_module", "class Module:",
    ]  # fmt: skip


def test_names_can_be_given() -> None:
    assert "def f(" in func().script(name="f")
    assert "class Mine:" in IRModule({"main": func()}).script(name="Mine")


def test_metadata_is_shown_or_mentioned() -> None:
    constant = relax.const(np.arange(3, dtype="float32"))
    hidden = constant.script()
    assert hidden.split("\n")[0] == 'metadata["relax.expr.Constant"][0]'
    assert "Metadata omitted. Use show_meta=True" in hidden
    assert constant.script(show_meta=True).startswith('metadata = tvm.ir.load_json("""')


def test_objects_and_paths_are_underlined() -> None:
    f = func()
    value = f.body.value
    marked = "    A[0] = A[1] + T.float32(1.0)\n           ^^^^^^^^^^^^^^^^^^^^^"
    assert marked in f.script(obj_to_underline=[value])
    path = AccessPath.root().attr("body").attr("value")
    assert marked in f.script(path_to_underline=[path])
    # a plain value inside a node points at the node
    assert marked in f.script(path_to_underline=[path.attr("dtype")])


def test_objects_are_annotated() -> None:
    f = func()
    assert "A[0] = A[1] + T.float32(1.0)  # here" in f.script(obj_to_annotate={f.body: "here"})


def test_options_and_configurations_agree() -> None:
    f = func()
    assert script(f, {"indent_spaces": 2}) == script_of(f, PrinterConfig(indent_spaces=2))


@T.prim_func
def two(a: T.int32):
    T.evaluate(a)
    T.evaluate(1)


def test_what_stands_alone_is_underlined_below_its_imports() -> None:
    assert two.script(obj_to_underline=[two]) == """\
# from tvm.script import tir as T

@T.prim_func
^^^^^^^^^^^^
def two(a: T.int32):
^^^^^^^^^^^^^^^^^^^^
    T.evaluate(a)
    ^^^^^^^^^^^^^
    T.evaluate(1)
    ^^^^^^^^^^^^^"""


def test_an_object_is_underlined_where_it_is_used() -> None:
    text = two.script(obj_to_underline=[two.params[0]])
    assert "def two(a: T.int32):\n    T.evaluate(a)\n               ^\n" in text
    path = AccessPath.root().attr("params").array_item(0)
    assert "def two(a: T.int32):\n        ^^^^^^^^^^" in two.script(path_to_underline=[path])


def test_a_sequence_is_underlined_with_all_its_statements() -> None:
    missing = AccessPath.root().attr("body").attr("seq").array_item_missing(2)
    assert two.script(path_to_underline=[missing]).count("^^^^^^^^^^^^^") == 2


def test_notes_stand_at_statements_only() -> None:
    mod = IRModule({"two": two})
    assert mod.script(obj_to_annotate={mod: "a note", mod["two"]: "a note"}) == mod.script()
    assert two.script(obj_to_annotate={two: "a note", two.params[0]: "a note"}) == two.script()
    root = AccessPath.root()
    first = root.attr("body").attr("seq").array_item(0)
    assert "T.evaluate(a)  # a note" in two.script(path_to_annotate={first: "a note"})
    assert two.script(path_to_annotate={first.attr("span"): "a note", root: "b"}) == two.script()
