"""Functions taken out of their module as text, and put into others."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from tvm.backend.host_functions import Signature
from tvm.backend.llvm.fragment import Fragment, put, taken
from tvm.backend.llvm.module_text import ModuleText
from tvm.error import TVMError

pytestmark = pytest.mark.cpu

F = Signature("f", "i32", ("ptr",))


def part(name: str = "f") -> ModuleText:
    """A module with a function that uses all that a module has, and one cut out of it."""
    made = ModuleText()
    made.metadata("!{}")
    text, slot = made.string("told"), made.slot(f".{name}.once")
    puts = made.declare("puts", "i32", "ptr")
    made.declare_weak("maybe", "i32", "ptr")
    loop = made.metadata("distinct !{{self}}")
    note = made.shared_metadata(f"!{{{loop}, !0}}")
    inner = made.names.fresh("inner", ".")
    made.functions.append(
        f"define internal i32 @{inner}(ptr %a) #0 {{\nentry:\n  ret i32 0\n}}\n"
    )
    made.functions.append(
        f"define internal i32 @{name}(ptr %a) #0 {{\nentry:\n"
        f"  %.1 = call i32 {puts}(ptr {text})\n  %.2 = call i32 @{inner}(ptr {slot})\n"
        f"  br label %again\nagain:\n  br label %again, !llvm.loop {loop}, !note {note}\n}}\n"
    )
    return made


def fragment(name: str = "f") -> Fragment:
    found = taken(part(name), Signature(name, "i32", ("ptr",)), 1)
    assert found is not None
    return found


def test_a_module_of_fragments() -> None:
    module = ModuleText()
    module.metadata("!{}")
    module.names.reserve("f")
    module.string("other")
    module.shared_metadata("!{i32 7}")
    put(fragment(), module)
    put(fragment("g"), module)
    text = module.text()
    llvm.parse_assembly(text).verify()
    assert text.count('c"told\\00"') == 1  # equal strings are one
    assert "call i32 @inner(" in text
    assert "call i32 @inner.1(" in text
    assert "!2 = distinct !{!2}\n!3 = !{!2, !0}\n!4 = distinct !{!4}\n" in text
    assert "br label %again, !llvm.loop !4, !note !5" in text
    assert "declare extern_weak i32 @maybe(ptr)" in text


def test_what_is_kept_is_what_was_taken() -> None:
    assert Fragment.from_text(fragment().to_text()) == fragment()


def test_a_function_is_written_as_it_was() -> None:
    alone, whole = part(), ModuleText()
    whole.metadata("!{}")
    put(fragment(), whole)
    assert whole.functions == alone.functions
    assert whole.nodes == alone.nodes
    assert whole.globals == alone.globals


@pytest.mark.parametrize("field", ["foreign", "imported", "uses_context", "constants"])
def test_what_belongs_to_the_module_is_not_taken(field: str) -> None:
    made = part()
    setattr(made, field, {"x": 1} if field == "constants" else ["x"])
    assert taken(made, F, 1) is None


def test_two_forms_of_an_outside_function_are_refused() -> None:
    module = ModuleText()
    module.declare("puts", "i64", "ptr")
    with pytest.raises(TVMError, match="two forms of it"):
        put(fragment(), module)
