"""Passes: contexts, levels, sequences, users' own passes, errors."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.ir.transform import (
    ApplyPassToFunction,
    ModulePass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    declare_module_pass,
    module_pass,
)

pytestmark = pytest.mark.pure


def named(name: str, ran: list[str], opt_level: int = 0):
    @module_pass(opt_level=opt_level, name=name)
    def run(mod, ctx):
        ran.append(name)
        return mod

    return run


def test_levels_required_and_disabled() -> None:
    ran: list[str] = []
    seq = Sequential([named("a", ran), named("b", ran, 3), named("c", ran, 1)])
    seq(tvm.IRModule())
    assert ran == ["a", "c"]
    ran.clear()
    with PassContext(opt_level=0, required_pass=["b"], disabled_pass=["a"]):
        seq(tvm.IRModule())
    assert ran == ["b"]


def test_contexts_nest_and_belong_to_a_thread() -> None:
    seen: list[int] = []
    with PassContext(opt_level=3):
        assert PassContext.current().opt_level == 3
        with PassContext(opt_level=1):
            assert PassContext.current().opt_level == 1
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [2]
    assert PassContext.current().opt_level == 2


def test_class_as_pass() -> None:
    @module_pass(opt_level=1)
    class Tag:
        def __init__(self, value: int) -> None:
            self.value = value

        def transform_module(self, mod, ctx):
            return mod.with_attr("tag", self.value)

    made = Tag(7)
    assert made.value == 7
    assert made.info.name == "Tag"
    assert made(tvm.IRModule()).get_attr("tag") == 7

def test_a_class_of_passes_shows_its_constants_and_its_method() -> None:
    @module_pass(opt_level=0)
    class Add:
        KEY = "added"

        def transform_module(self, mod, ctx):
            """Says what was added."""
            return mod.with_attr(self.KEY, 1)

    assert Add.KEY == "added"
    assert Add.transform_module.__doc__ == "Says what was added."
    made = Add().transform_module(tvm.IRModule(), PassContext.current())
    assert made.attrs["added"] == 1 == Add()(tvm.IRModule()).attrs["added"]



def test_house_form_is_a_factory_with_the_options() -> None:
    @declare_module_pass("test.Tag")
    def Tag(mod, ctx, value: int = 1):
        """Sets a tag."""
        return mod.with_attr("tag", value)

    assert Tag(5)(tvm.IRModule()).get_attr("tag") == 5
    assert Tag.__doc__ == "Sets a tag."
    assert list(Tag.__signature__.parameters) == ["value"]


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="takes an IRModule, found PrimFunc"):
        PrintIR()(copy_func())
    with pytest.raises(ValueError, match="Please provide opt_level"):
        module_pass(lambda mod, ctx: mod)
    with pytest.raises(TypeError, match="passes must be a list of Pass objects"):
        Sequential([1])
    bad = module_pass(lambda mod, ctx: 3, opt_level=0, name="bad")
    with pytest.raises(tvm.TVMError, match="pass 'bad' returned int; legal: an IRModule"):
        bad(tvm.IRModule())
    with pytest.raises(TypeError, match="required_pass is expected to be the type of list/tuple"):
        PassContext(required_pass="a")
    assert PassContext(disabled_pass={"b", "a"}).disabled_pass == ["a", "b"]


def test_print_ir(capsys: pytest.CaptureFixture[str]) -> None:
    PrintIR("here")(tvm.IRModule({"f": copy_func()}))
    printed = capsys.readouterr()
    assert printed.err.startswith("PrintIR(here):\n")
    assert not printed.out


def test_what_a_pass_says_of_itself() -> None:
    said = "The meta data of the pass - pass name: {}, opt_level: {}, required passes: {}\n"
    assert str(PassInfo(2, "plain")) == said.format("plain", 2, "[]")
    assert str(PassInfo(0, "last", ["a", "b"])) == said.format("last", 0, "[\na, b, ]")


def test_apply_to_functions_by_name() -> None:
    @tir.transform.prim_func_pass(opt_level=0, name="mark")
    def mark(func, mod, ctx):
        return func.with_attr("mark", True)

    mod = tvm.IRModule({"keep": copy_func(), "change_1": copy_func()})
    out = ApplyPassToFunction(mark, "change.*")(mod)
    assert out["change_1"].attrs.get("mark")
    assert out["keep"].attrs.get("mark") is None
    with pytest.raises(tvm.TVMError, match="no function matches 'none'"):
        ApplyPassToFunction(mark, "none", error_if_no_function_matches_regex=True)(mod)
    assert ApplyPassToFunction(mark, "none")(mod) is mod


def test_a_class_of_passes_makes_passes_of_its_kind() -> None:
    @module_pass(opt_level=2)
    class Mark:
        def __init__(self, value: int) -> None:
            self.value = value

        def transform_module(self, mod: tvm.IRModule, ctx: PassContext) -> tvm.IRModule:
            return mod.with_attr("mark", self.value)

    made = Mark(3)
    assert isinstance(made, ModulePass)
    assert made.info.name == "Mark"
    assert made.value == 3
    assert made(tvm.IRModule()).attrs["mark"] == 3


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"config": 1}, "config is 1"), ({"config": [1]}, "config is"),
        ({"config": {1: 2}}, "the key 1"), ({"opt_level": "3"}, "opt_level is '3'"),
        ({"required_pass": [1]}, "required_pass holds"), ({"disabled_pass": 1}, "disabled_pass"),
    ],
)  # fmt: skip
def test_contexts_of_other_arguments(given: dict[str, Any], found: str) -> None:
    with pytest.raises(TypeError, match=found):
        tvm.transform.PassContext(**given)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("a", "name"), "opt_level of a pass is 'a'"),
        ((1, 3), "name of a pass is 3"),
        ((1, "name", 3), "Required is expected to be the type of list/tuple"),
    ],
)
def test_what_is_known_of_a_pass_has_kinds(options: tuple[Any, ...], word: str) -> None:
    with pytest.raises(TypeError, match=word):
        PassInfo(*options)
    with pytest.raises(TypeError, match="opt_level of a pass"):
        module_pass(opt_level="a")(lambda mod, ctx: mod)
    with pytest.raises(TypeError, match="pass instruments"):
        PassContext(instruments=[3])
