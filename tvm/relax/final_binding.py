"""What a sequence ends with: the last step of a function may take the place of the function.

y = cls.f(x)
z = y                ->   the binding of y
return z
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm.ir.expr import GlobalVar, RelaxExpr

from .expr import Binding, Call, Function, If, MatchCast, SeqExpr, Var, is_call_of

_KILLS = ("relax.vm.kill_object", "relax.memory.kill_tensor", "relax.memory.kill_storage")


def final_binding(seq: SeqExpr) -> Binding | None:
    """The binding that gives a sequence its value, if nothing but names and kills follow it."""
    result: RelaxExpr = seq.body
    for block in reversed(seq.blocks):
        for binding in reversed(block.bindings):
            if isinstance(binding, MatchCast):
                return None
            if result is not binding.var:
                if isinstance(binding.value, Var) or is_kill(binding):
                    continue
                return None
            if not isinstance(binding.value, Var):
                return binding
            result = binding.value
    return None


def is_kill(binding: Binding) -> bool:
    """Whether a step only says that a value is needed no more."""
    value = binding.value
    return is_call_of(value, *_KILLS)


def final_values(seq: SeqExpr) -> Iterator[RelaxExpr]:
    """The values that a sequence may have, through branches at its end."""
    stack = [seq]
    while stack:
        seq = stack.pop()
        final = final_binding(seq)
        if final is not None and isinstance(final.value, If):
            stack += (final.value.true_branch, final.value.false_branch)
        else:
            yield seq.body if final is None else final.value


def bindings_within(seq: SeqExpr) -> Iterator[Binding]:
    """All bindings of a sequence, those of branches too."""
    stack = [seq]
    while stack:
        for block in stack.pop().blocks:
            for binding in block.bindings:
                yield binding
                if isinstance(binding.value, If):
                    stack += (binding.value.true_branch, binding.value.false_branch)


def own_calls(func: Function, own: GlobalVar) -> list[Call]:
    """The calls of the function in its own body."""
    values = [binding.value for binding in bindings_within(func.body)]
    return [value for value in values if isinstance(value, Call) and value.op is own]


def is_loop(func: Function, own: GlobalVar) -> bool:
    """Whether the function calls itself, and does so as its last step only."""
    calls = own_calls(func, own)
    last = [v for v in final_values(func.body) if isinstance(v, Call) and v.op is own]
    return bool(calls) and len(calls) == len(last)
