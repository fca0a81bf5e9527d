"""Nodes: field tables, copies, reflection; and every class's table against its slots."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import pytest

from tvm import relax, tir
from tvm.ir import make_node, structural_equal
from tvm.ir.node import NODE_TYPES, Node, fields, with_fields

pytestmark = pytest.mark.pure


def test_field_specs() -> None:
    table = fields("var*", "span~", "value")
    assert [(f.name, f.binds, f.ignored) for f in table] == [
        ("var", True, False), ("span", False, True), ("value", False, False),
    ]  # fmt: skip
    assert repr(table[0]) == "var*"


def test_with_fields_copies_and_keeps_identity() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    add = tir.Add(x, y)
    assert with_fields(add, a=x) is add
    other = with_fields(add, a=y)
    assert other.a is y
    assert other.b is y


def test_make_node() -> None:
    made = make_node("ir.IntImm", dtype="int32", value=7)
    assert isinstance(made, tir.IntImm)
    assert made.value == 7
    with pytest.raises(KeyError, match=r"no node type 'ir\.IntIm'; did you mean 'ir\.IntImm'"):
        make_node("ir.IntIm", value=1)
    with pytest.raises(TypeError, match=r"ir\.IntImm has no field 'valu'; legal: dtype"):
        make_node("ir.IntImm", dtype="int32", valu=7)
    with pytest.raises(TypeError, match=r"ir\.Range: a required field is not set\n  found: min"):
        make_node("ir.Range", min=1)
    with pytest.raises(TypeError, match=r"tir\.Add: a required .*\n  found: a\n  legal: .* of b, "):
        make_node("tir.Add", a=1)


def _all_classes() -> list[type[Node]]:
    assert relax.Call.TYPE_KEY == "relax.expr.Call"  # loads the dialect
    return [NODE_TYPES.get(name) for name in NODE_TYPES.names()]


def test_keys_of_older_versions_have_no_prefix() -> None:
    attrs = make_node("DictAttrs", x=1, name="xyz")
    assert structural_equal(attrs, make_node("ir.DictAttrs", x=1, name="xyz"))
    with pytest.raises(KeyError, match="no node type 'DictAtrs'"):
        make_node("DictAtrs")


def test_fields_are_attributes_of_each_class() -> None:
    for cls in _all_classes():
        known = {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}
        known |= {name for base in cls.__mro__ for name in vars(base)}
        missing = [f.name for f in cls.FIELDS if f.name not in known]
        assert not missing, f"{cls.TYPE_KEY}: {missing}"


def test_constructors_take_the_fields_in_order() -> None:
    """Unless a class rebuilds itself in its own way, CTOR or FIELDS are its parameters."""
    for cls in _all_classes():
        if any("from_fields" in vars(base) for base in cls.__mro__[: cls.__mro__.index(Node)]):
            continue
        wanted = cls.CTOR or tuple(f.name for f in cls.FIELDS)
        params = [p for p in inspect.signature(cls.__init__).parameters.values()][1:]
        positional = [p for p in params if p.kind is p.POSITIONAL_OR_KEYWORD]
        if any(p.kind is p.VAR_POSITIONAL for p in params):
            continue
        assert len(positional) >= len(wanted), f"{cls.TYPE_KEY}: {wanted}"


KEYS = ("tir.Layout", "tir.IndexMap", "tir.TensorIntrin", "ir.TypeRelation", "relax.expr.Call")


@pytest.mark.parametrize("key", KEYS)
def test_types_are_found_whatever_was_imported(key: str) -> None:
    code = f"from tvm.ir.node import NODE_TYPES; print(NODE_TYPES.get({key!r}).TYPE_KEY)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == key


def test_a_node_is_copied_from_its_state() -> None:
    x = tir.Var("x", "int32")
    block = tir.Block([], [], [], "b", tir.Evaluate(x + 1))
    state = block.__getstate__()
    assert list(state) == ["handle"]
    copied = copy.deepcopy(block)
    assert not copied.body.same_as(block.body)
    assert structural_equal(copied, block, map_free_vars=True)
    first, second = pickle.loads(pickle.dumps([x, tir.decl_buffer((x, 3))]))
    assert first.name == "x"
    assert second.shape[1] == 3


def test_a_deep_node_is_copied() -> None:
    deep = tir.Var("x", "int32") + 1
    for _ in range(5000):
        deep = deep + 1
    assert structural_equal(pickle.loads(pickle.dumps(deep)), deep, map_free_vars=True)
