"""Parts of a module: what stands together, what does not count, and that they link."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.backend.llvm import jit, split
from tvm.backend.llvm.split import parts_of
from tvm.script import ir as I
from tvm.script import relax as R

HEAD = """source_filename = "tvm"
target datalayout = "{layout}"
target triple = "{triple}"
"""
TAIL = """
attributes #0 = { nounwind }
attributes #1 = { nounwind noinline optnone }

!llvm.module.flags = !{!0}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!"weights", i32 1, i32 2000}
!2 = !{!"a!3 @f", !1}
!3 = !{!2}
"""


def kernel(name: str, value: int, lambda_: str = "@__tvm_parallel_lambda", word: str = "") -> str:
    """A function that adds a number by way of a function of its own."""
    return f"""
define internal i32 {lambda_}(i32 %x) #0 {{
  %y = add i32 %x, {value}
  ret i32 %y
}}

define internal i32 @{name}(i32 %x) #0 {{
  %y = call i32 {lambda_}(i32 %x){word}
  ret i32 %y
}}
"""


def module(*kernels: str, calls: list[str], state: str = "") -> str:
    lines, value = [], "%x"
    for n, name in enumerate(calls):
        lines.append(f'  %v{n} = call i32 @"{name}"(i32 {value})')
        value = f"%v{n}"
    body = "\n".join(lines)
    frame = f"\ndefine i32 @main(i32 %x) #1 {{\n{body}\n  ret i32 {value}\n}}\n"
    host = jit.host_machine()
    head = HEAD.format(layout=jit.data_layout(host), triple=host.triple)
    return head + state + "".join(kernels) + frame + TAIL


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "SMALLEST", 0)


TWO = module(
    kernel("f", 1, word=", !y !1"), kernel("g", 10, "@__tvm_parallel_lambda.1", ", !x !3"),
    calls=["f", "g", "f"],
)  # fmt: skip


def run(text: str, value: int) -> int:
    machine = jit.host_machine()
    objects = [jit.emit_object(part, machine, keep=False) for part in parts_of(text)]
    linked = jit.link(objects, ["main"], {})
    return int(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(linked.address("main"))(value))


def test_each_kernel_is_a_part_and_they_link() -> None:
    assert len(parts_of(TWO)) == 3
    assert run(TWO, 100) == 112


def test_a_part_does_not_know_of_the_others() -> None:
    alone = module(kernel("g", 10, word=", !x !3"), calls=["g"])
    assert parts_of(TWO)[1] == parts_of(alone)[0]
    changed = module(
        kernel("f", 2), kernel("g", 10, "@__tvm_parallel_lambda.1", ", !x !3"), calls=["g", "f"]
    )
    assert parts_of(changed)[1] == parts_of(TWO)[1]
    assert parts_of(changed)[0] != parts_of(TWO)[0]


def test_words_in_quotes_are_no_references() -> None:
    part = parts_of(TWO)[1]
    assert '"a!3 @f"' in part
    assert "@f(" not in part


def test_names_in_quotes_are_names() -> None:
    other = kernel("g", 4, "@__tvm_parallel_lambda.1")
    text = module(kernel('"a b"', 3), other, calls=["a b", "g"])
    assert len(parts_of(text)) == 3
    assert run(text, 0) == 7


def test_functions_that_share_memory_stay_together() -> None:
    use = "\n  store i32 1, ptr @kept"
    texts = [
        kernel(name, value, f"@__tvm_parallel_lambda.{value}").replace("{\n  %y = call",
                                                                       "{" + use + "\n  %y = call")
        for name, value in (("f", 1), ("g", 2))
    ]  # fmt: skip
    text = module(*texts, calls=["f", "g"], state="@kept = internal global i32 0\n")
    assert len(parts_of(text)) == 2
    assert run(text, 0) == 3


def test_a_graph_and_its_profiled_form_belong_to_no_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clocks between the calls are no work: each kernel stays a part of its own."""
    texts: list[str] = []

    def note(text: str, machine: jit.Machine) -> list[bytes]:
        texts.append(text)
        return [jit.emit_object(text, machine, keep=False)]

    monkeypatch.setattr("tvm.backend.llvm.module.emit_objects", note)

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((64, 64), "float32")):
            with R.dataflow():
                a = R.nn.softmax(x)
                b = R.matmul(a, x)
                R.output(b)
            return b

    target = tvm.target.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake")
    tvm.relax.build(Mod, target, exec_mode="compiled")
    text = next(each for each in texts if "main_profile_compute_" in each)
    defined = [jit.defined_names(part) for part in parts_of(text)]
    kernels = sorted(name.partition(".")[0] for names in defined[:-1] for name in names)
    assert kernels == ["matmul", "softmax"]
    assert len(defined) == 3


def test_kernels_that_a_loop_calls_are_parts_of_their_own() -> None:
    """A graph with a loop is optimised, and still what it calls stands apart."""
    text = TWO.replace("(i32 %x) #1", "(i32 %x) #2")
    text = text.replace("attributes #1", "attributes #2 = { nounwind }\nattributes #1")
    assert len(parts_of(text)) == 3
    assert run(text, 100) == 112


def test_a_graph_with_a_loop_leaves_its_kernels_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def note(text: str, machine: jit.Machine) -> list[bytes]:
        texts.append(text)
        return [jit.emit_object(part, machine, keep=False) for part in parts_of(text)]

    monkeypatch.setattr("tvm.backend.llvm.module.emit_objects", note)

    @I.ir_module
    class Mod:
        @R.function
        def loop(
            i: R.Tensor((), "int64"), x: R.Tensor((4, 4), "float32")
        ) -> R.Tuple(R.Tensor((), "int64"), R.Tensor((4, 4), "float32")):
            c = R.less(i, R.const(3, "int64"))
            if c:
                j = R.add(i, R.const(1, "int64"))
                y = R.matmul(x, x)
                r = Mod.loop(j, y)
            else:
                r = (i, x)
            return r

        @R.function
        def main(i: R.Tensor((), "int64"), x: R.Tensor((4, 4), "float32")):
            r = Mod.loop(i, x)
            y = r[1]
            return y

    machine = relax.VirtualMachine(
        relax.build(Mod, "llvm", exec_mode="compiled"), tvm.cpu()
    )
    x = np.random.default_rng(0).standard_normal((4, 4), "float32")
    made = machine["main"](tvm.runtime.tensor(np.array(1)), tvm.runtime.tensor(x))
    np.testing.assert_allclose(made.numpy(), x @ x @ (x @ x), rtol=1e-4, atol=1e-5)
    text = next(each for each in texts if "main_compute_" in each)
    alone = [part for part in parts_of(text)[:-1] if "@matmul" in part]
    assert len(alone) == 1
    assert "main_compute_" not in alone[0]


def test_small_and_unknown_texts_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts_of(TWO + 'module asm "nop"\n') == [TWO + 'module asm "nop"\n']
    other = TWO.replace("-linux-", "-darwin-")
    assert parts_of(other) == [other]
    monkeypatch.setattr(split, "SMALLEST", 50_000)
    assert parts_of(TWO) == [TWO]
