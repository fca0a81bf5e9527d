"""Find a block by its name."""

from __future__ import annotations

from tvm.support.suggest import did_you_mean
from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree, inner_stmts
from tvm.tir.stmt import Block

KIND = kind("GetBlock", "get_block", "=name", "=func_name", pure=True)


def get_block(state: SRefTree, name: str, func_name: str) -> StmtSRef:
    """The one block called `name` in a function."""
    root = next((r for gvar, r in state.roots() if gvar.name_hint == func_name), None)
    if root is None:
        known = [gvar.name_hint for gvar, _ in state.roots()]
        if any(gvar.name_hint == func_name for gvar in state.mod.functions):
            raise Illegal(
                f"Cannot find a block with the name: {name}; the body of {func_name!r} is no block",
                legal="a function as TVMScript and te.create_prim_func make it, with a root block "
                "around everything",
            )
        raise Illegal(
            f"the module has no TIR function {func_name!r}{did_you_mean(func_name, known)}",
            legal=f"one of {known}",
        )
    blocks = _blocks(root)
    found = [block for block in blocks if block.name_hint == name]
    if len(found) == 1:
        return state.get_sref(found[0])
    known = list(dict.fromkeys([block.name_hint for block in blocks]))
    if not found:
        raise Illegal(
            f"Cannot find a block with the name: {name}{did_you_mean(name, known)}",
            legal=f"one of {known}",
            fast="Cannot find a block with the specified name",
        )
    raise Illegal(
        f"Found {len(found)} blocks with the name: {name}",
        legal="a name that only one block has",
        spots=found,
        fast="Found multiple blocks with the specified name",
    )


def _blocks(root: StmtSRef) -> list[Block]:
    found: list[Block] = []
    assert root.stmt is not None, "a function has a root block"
    stack = [root.stmt]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, Block):
            found.append(stmt)
        stack.extend([inner for inner, _ in inner_stmts(stmt)][::-1])
    return found
