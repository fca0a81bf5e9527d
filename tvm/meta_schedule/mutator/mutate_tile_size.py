"""Another size of tiles: a factor goes from one level to another."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod

from tvm.meta_schedule.structure import FETCH
from tvm.tir.schedule import Instruction, Trace
from tvm.tir.schedule.primitive.sampling import divisors

from .decisions import annotated, decided, other_choice, plain
from .mutator import Mutator


class MutateTileSize(Mutator):
    """Moves a divisor of one tile to another of the same loop, or changes the width of a fetch."""

    def __init__(self) -> None:
        pass

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with one sample of tiles, or of the lanes of a fetch, changed."""
        tiles = [
            (inst, moves)
            for inst, factors in decided(trace, "SamplePerfectTile")
            if (moves := _moves(tuple(factors), int(plain(inst.attrs[1]))))
        ]
        fetches = _fetches(trace)
        if not tiles and not fetches:
            return None
        number = self.engine.below(len(tiles) + len(fetches))
        if number < len(tiles):
            inst, moves = tiles[number]
            return trace.with_decision(inst, _moved(self, moves), remove_postproc=True)
        inst, lane = fetches[number - len(tiles)]
        chosen = other_choice(inst, lane, self.engine)
        return trace.with_decision(inst, chosen, remove_postproc=True)


Moves = dict[tuple[int, int], list[list[int]]]


@functools.lru_cache(maxsize=4096)
def _moves(factors: tuple[int, ...], most: int) -> Moves:
    """For each pair of levels the tilings in which a divisor went from one to the other."""
    if len(factors) < 2 or prod(factors) < 2 or min(factors) < 1:
        return {}
    last = len(factors) - 1
    found: Moves = {}
    for source, size in enumerate(factors):
        for target, other in enumerate(factors):
            legal = [
                d
                for d in divisors(size)[1:]
                if target != last or most == -1 or other * d <= most
            ]
            if source != target and legal:
                found[source, target] = [_move(factors, source, target, d) for d in legal]
    return found


def _move(factors: Sequence[int], source: int, target: int, divisor: int) -> list[int]:
    made = list(factors)
    made[source] //= divisor
    made[target] *= divisor
    return made


def _moved(mutator: Mutator, moves: Moves) -> list[int]:
    pairs = list(moves)
    tilings = moves[pairs[mutator.engine.below(len(pairs))]]
    return list(tilings[mutator.engine.below(len(tilings))])


def _fetches(trace: Trace) -> list[tuple[Instruction, int]]:
    """The samples that cooperative fetches take their width from, if there is a choice."""
    used = [value for _, value in annotated(trace, [FETCH])]
    return [
        (inst, decision)
        for inst, decision in decided(trace, "SampleCategorical")
        if any(inst.outputs[0] is value for value in used) and len(plain(inst.attrs[1])) > 1
    ]
