import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import AnnotateEntryFunc

pytestmark = pytest.mark.pure


@T.prim_func
def public(A: T.Buffer((4,), "int32")):
    A[0] = 1


@T.prim_func(private=True)
def private(A: T.Buffer((4,), "int32")):
    A[0] = 1


@pytest.mark.parametrize(
    ("functions", "entries"),
    [
        ({"a": private}, ["a"]),
        ({"a": public, "b": private}, ["a"]),
        ({"a": public, "b": public}, []),
        ({"a": private, "b": private}, []),
    ],
)
def test_entry(functions, entries):
    mod = AnnotateEntryFunc()(IRModule(functions))
    marked = [v.name_hint for v, f in mod.functions_items() if f.attrs.get("tir.is_entry_func")]
    assert marked == entries
