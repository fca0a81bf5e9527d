"""Rules for types by name, for `TypeRelation`s that programs write down.

    func = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")
    func([TensorType((2, 1)), TensorType((3,)), IncompleteType()], 2, None)   # Tensor[(2, 3)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ffi import register_global_func
from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.relay.expr import Call, Var

from . import relations
from .declare import Relate


def _register(name: str, op_name: str, rule: Callable[[Relate], Type | None]) -> None:
    def relate(
        args: Sequence[Type], num_inputs: int, attrs: Any = None, reporter: Any = None
    ) -> Type | None:
        """The type of the result for those of the operands; None while they are open."""
        types = list(args)[:num_inputs]
        call = Call(Op.get(op_name), [Var("x", found) for found in types], attrs)
        return rule(Relate(call, types, lambda index, found: None))

    register_global_func(f"tvm.relay.type_relation.{name}", relate)


OPERATOR_OF: Final = {"Identity": "negative", "Broadcast": "add", "BroadcastComp": "less"}
_register("Identity", OPERATOR_OF["Identity"], relations.identity)
_register("Broadcast", OPERATOR_OF["Broadcast"], relations.broadcast)
_register("BroadcastComp", OPERATOR_OF["BroadcastComp"], relations.compare)
