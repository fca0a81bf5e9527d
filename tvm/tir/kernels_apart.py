"""Kernels lowered and written by several processes, each by itself.

    def conv(...): <loops>           def conv(...): 0       # attribute "llvm.kept": its code
    def dense(...): <loops>    ->    def dense(...): 0
    def main(...): conv(...)         def main(...): conv(...)

A kernel that the compile cache does not have is marked, so that it will be there (see
`backend.llvm.kept_kernels`). Its code follows from the function and the setting alone, so it does
not matter where it is made: long-lived processes take the largest ones, and this process the
smallest. One that has another setting, where variables of the environment have changed since it
began, makes none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tvm.backend.llvm import workers
from tvm.backend.llvm.codegen import kernel_code
from tvm.backend.llvm.kept_kernels import KEEP, store_kernel, with_code
from tvm.backend.llvm.setting import setting
from tvm.backend.llvm.target import machine_of
from tvm.backend.llvm.worker import Worker
from tvm.error import TVMError
from tvm.ir.expr import GlobalVar
from tvm.ir.json_rows import load_apart, save_apart
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import custom_types
from tvm.support.recursion import nested_programs
from tvm.target.target import Target

from .function import PrimFunc
from .functor import statements
from .pipeline import finalize_host_passes, get_tir_pipeline
from .stmt import Stmt

_WORTH_SENDING: Final = 1000  # statements of all kernels; fewer are lowered before a process loads


def begin(*modules: str) -> None:
    """Start the processes, for who knows that there will be kernels; they load `modules` too."""
    workers.begin(__name__, *modules)


def with_made_kernels(mod: IRModule, target: Target) -> IRModule:
    """The module where kernels that are marked to be kept have their code as an attribute.

    So have those whose code can be by itself, if there is enough work for several processes.
    """
    marked = [(var, func) for var, func in mod.functions.items()
              if isinstance(func, PrimFunc) and KEEP in func.attrs]  # fmt: skip
    count = workers.worker_count()
    if len(marked) < 2 or not count or custom_types():  # which other processes do not know
        return mod
    sizes = [sum(1 for _ in statements(func.body, Stmt)) for _, func in marked]
    given = setting(target) if sum(sizes) >= _WORTH_SENDING else None
    if given is None:
        return mod
    fields = [given, str(target), *context_fields()]

    def here(number: int) -> bytes | None:
        return _made(mod.with_functions(dict([marked[number]])), target)

    def there(helper: Worker, number: int) -> bytes | None:
        var, func = marked[number]
        try:
            text, tensors = save_apart(func)
        except (TypeError, ValueError):
            return None
        return None if tensors else helper.ask(__name__, [var.name_hint, *fields], text.encode())

    order = sorted(range(len(marked)), key=lambda i: -sizes[i])
    functions = dict(mod.functions)
    for number, content in workers.shared_out(order, here, there, count, __name__).items():
        var, func = marked[number]
        assert isinstance(func, PrimFunc), "looked at above"
        text = content.decode()
        store_kernel(str(func.attrs[KEEP]), text)
        functions[var] = with_code(func, text)
    return mod.with_functions(functions)


def answer(
    content: bytes, name: str, given: Sequence[str], target: str, opt_level: int,
    required: Sequence[str], disabled: Sequence[str], config: dict[str, Any],
) -> bytes:  # fmt: skip
    """In another process: the code of one kernel; TVMError where this one would make other code."""
    chosen = Target(target)
    with as_asked(given, chosen, opt_level, required, disabled, config):
        made = _made(IRModule({GlobalVar(name): load_apart(content.decode(), ())}), chosen)
    if made is None:
        raise TVMError("the code of the kernel needs others")
    return made


@contextlib.contextmanager
def as_asked(
    given: Sequence[str], target: Target, opt_level: int, required: Sequence[str],
    disabled: Sequence[str], config: dict[str, Any],
) -> Iterator[None]:  # fmt: skip
    """In another process: the setting of the one that asks; TVMError where it cannot be had."""
    with PassContext(opt_level, list(required), list(disabled), config=config), target:
        if setting(target) != list(given):
            raise TVMError("the setting of this process is another")
        with nested_programs():
            yield


def _made(mod: IRModule, target: Target) -> bytes | None:
    """The text of the fragment of a module's only function; None where there is none."""
    mod = finalize_host_passes()(get_tir_pipeline("default")(mod))
    fragment = kernel_code(mod, machine_of(target))
    return None if fragment is None else fragment.to_text().encode()


def context_fields() -> list[object]:
    """The context of passes, as JSON has it; `setting` has looked at it."""
    ctx = PassContext.current()
    config = json.loads(json.dumps(dict(ctx.config)))
    return [ctx.opt_level, list(ctx.required_pass), list(ctx.disabled_pass), config]
