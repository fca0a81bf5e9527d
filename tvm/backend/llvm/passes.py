"""LLVM's passes over a module: all that it has for this level, or the first half of them.

LLVM simplifies functions, then vectorises and unrolls their loops, then simplifies what came of it.
Schedules have said already which loops are vectors: where all innermost loops of a text hold some,
the vectorisers find nothing, and what tidies behind them takes as long as the first half. It pays
for long texts, which are the products and convolutions where a network spends its time. Code for
GPUs wants its functions inlined, and has all passes.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .machine import Machine, binding

LONG: Final = 50_000  # characters
_NOT_CPUS: Final = ("nvptx", "amdgcn", "spirv", "wasm")
_HEAD: Final = r'^"?(?P<head>for\.[^":\n]+)"?:$'
_BACK: Final = r', label %"?(?P<back>for\.[^",\n]+)"?, label %"?end\.'
_LOOPS: Final = re.compile(f"{_HEAD}|{_BACK}", re.MULTILINE)
_VECTOR: Final = re.compile(r"<(?:vscale x )?\d+ x ")
_WORK: Final = re.compile(r' = load | call [^@\n]*@(?!"?llvm\.)')  # for vectors, or inlined
_SCALARS: Final = re.compile(r" = f(?:add|sub|mul|div) (?:[a-z]+ )*(?:half|float|double) ")


def run_passes(module: Any, text: str, target: Any, machine: Machine) -> None:
    """Optimise the module that was read from `text`."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=min(machine.opt_level, 2))
    options.loop_vectorization = machine.opt_level > 0
    options.slp_vectorization = machine.opt_level > 0
    options.loop_unrolling = machine.opt_level > 0
    builder = llvm.create_pass_builder(target, options)
    if machine.opt_level == 0 or machine.triple.startswith(_NOT_CPUS) or wants_all(text):
        builder.getModulePassManager().run(module, builder)
        return
    whole = llvm.create_new_module_pass_manager()
    whole.add_always_inliner_pass()
    whole.add_global_dead_code_eliminate_pass()
    whole.run(module, builder)
    simplify = builder.getFunctionPassManager()
    unroll = llvm.create_new_function_pass_manager()
    unroll.add_loop_unroll_pass()  # in part, or by the count that a loop asks for
    unroll.add_instruction_combine_pass()
    unroll.add_sroa_pass()  # sums at places that were computed: they are numbers now
    unroll.add_instruction_combine_pass()
    unroll.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
            unroll.run(function, builder)


def wants_all(text: str) -> bool:
    """Whether LLVM may find loops to vectorise, scalars to join, or much to tidy."""
    if len(text) > LONG:
        return True
    if _VECTOR.search(text) is None and _SCALARS.search(text) is not None:
        return True
    label, start = "", 0  # of the innermost loop that is open
    for found in _LOOPS.finditer(text):
        if found["head"] is not None:
            label, start = found["head"], found.end()
        elif found["back"] == label:
            label = ""  # the loops around it are not innermost
            within = (start, found.start())
            if _VECTOR.search(text, *within) is None and _WORK.search(text, *within) is not None:
                return True
    return False
