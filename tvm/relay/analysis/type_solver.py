"""Types that follow from relations, by themselves: what inference does, without a program.

    solver = TypeSolver()
    solver.add(TypeRelation(EnvFunc.get("tvm.relay.type_relation.Broadcast"), [a, b, out], 2, None))
    solver.solve()
    solver.resolve(out)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.ir.type_relation import TypeRelation
from tvm.relay.expr import Call, Tuple, Var
from tvm.relay.op.declare import Relate
from tvm.relay.op.relation_functions import OPERATOR_OF
from tvm.relay.type_infer import Unifier

_NOWHERE = Tuple([])


class TypeSolver:
    """Relations that were added, and what is known of the types in them."""

    def __init__(self) -> None:
        self._types = Unifier()
        self._waiting: list[TypeRelation] = []

    def add(self, relation: TypeRelation) -> None:
        """One relation more."""
        self._waiting.append(relation)

    def unify(self, a: Type, b: Type) -> Type:
        """Make two types one; a DiagnosticError when they cannot be."""
        return self.resolve(self._types.unify(a, b, _NOWHERE))

    def resolve(self, found: Type) -> Type:
        """A type with everything inside that is known."""
        return self._types.resolve(found)

    def solve(self) -> bool:
        """Run the relations until none of them learns anything; True when none is left."""
        progress = True
        while progress and self._waiting:
            waiting, self._waiting = self._waiting, []
            self._waiting = [relation for relation in waiting if not self._run(relation)]
            progress = len(self._waiting) < len(waiting)
        return not self._waiting

    def _run(self, relation: TypeRelation) -> bool:
        """True when the relation has said all that it knows."""
        assert relation.func is not None, "a relation without a rule ties nothing"
        name = relation.func.name.rpartition(".")[2]
        if name == "Identity":  # the one that tells in both directions
            for other in relation.args[1:]:
                self.unify(other, relation.args[0])
            return True
        inputs = relation.args[: relation.num_inputs]
        known = [self.resolve(given) for given in inputs]
        call = Call(Op.get(OPERATOR_OF[name]), [Var("x", found) for found in known], relation.attrs)
        rule = call.op.get_attr("FRelayType")  # type: ignore[attr-defined]
        found = rule(Relate(call, known, lambda at, made: _ignored(self.unify(inputs[at], made))))
        if found is None:
            return False
        self.unify(relation.args[relation.num_inputs], found)
        return True


def _ignored(found: Type) -> None:
    del found


def _test_type_solver() -> Callable[[str], Callable[..., Any]]:
    """The methods of a new solver, by the names that programs know."""
    solver = TypeSolver()
    methods: dict[str, Callable[..., Any]] = {
        "Solve": solver.solve, "Unify": solver.unify, "Resolve": solver.resolve,
        "AddConstraint": solver.add,
    }  # fmt: skip
    return methods.__getitem__
