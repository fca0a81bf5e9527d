"""Index expressions and conditions in their simplest form; what is always or never true decides.

    for i in range(16):                     for i in range(16):
        if i < 32:               ->             B[i] = A[i * 4 + 3]
            B[i] = A[i * 8 // 2 + 3]

Expressions are simplified with the facts known at that point; floating arithmetic loses zeros
added, ones multiplied and operations on constants, and is kept as written otherwise. A name for a
literal or another name is replaced by it; a store of an element to itself is dropped.

The option `tir.Simplify` of the pass context turns on what is costly: chains of inequalities,
conditions as conjunctions of alternatives, and what is known of the contents of buffers (to decide
conditions by `propagate_knowns_to_prove_conditional`, to replace loads by
`propagate_knowns_to_simplify_expressions`).
"""

from __future__ import annotations

from tvm.arith.analyzer import Extension
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.function import PrimFunc
from tvm.tir.functor import rewrite

from .flow_simplifier import FlowSimplifier
from .pass_form import tir_pass
from .simplifier import Simplifier


@tir_pass("tir.Simplify")
def Simplify(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No expression can be replaced by a simpler one that is known to be equal."""
    config = ctx.option("tir.Simplify")
    replace = bool(config.propagate_knowns_to_simplify_expressions)
    flow = replace or bool(config.propagate_knowns_to_prove_conditional)
    simplifier = FlowSimplifier(func, replace) if flow else Simplifier(func)
    simplifier.analyzer.enabled_extensions = _extensions(ctx)
    return rewrite(simplifier, func)


def _extensions(ctx: PassContext) -> Extension:
    """The costly rewritings that the config asks for."""
    config = ctx.option("tir.Simplify")
    chosen = Extension.NoExtensions
    for flag, asked in (
        (Extension.TransitivelyProveInequalities, config.transitively_prove_inequalities),
        (Extension.ConvertBooleanToAndOfOrs, config.convert_boolean_to_and_of_ors),
        (Extension.ApplyConstraintsToBooleanBranches,
         config.apply_constraints_to_boolean_branches),
    ):  # fmt: skip
        if asked:
            chosen |= flag
    return chosen
