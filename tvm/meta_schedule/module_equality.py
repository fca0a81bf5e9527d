"""When two modules count as the same program to tune.

    structural      nothing but names may differ
    ignore-tensor   the numbers in constants may differ, too
    anchor-block    only the reduction with the most operations has to be the same
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.tir.analysis import find_anchor_block

from .base import Component, unknown_kind


class ModuleEquality(Component):
    """Compares modules, and hashes them so that equal ones have equal hashes."""

    def hash(self, mod: IRModule) -> int:
        """A number of 64 bits, the same in every process."""
        self._missing("Hash")

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Whether both are the same program to tune."""
        self._missing("Equal")

    @staticmethod
    def create(mod_eq_name: str) -> ModuleEquality:
        """The equality of a name."""
        if mod_eq_name not in _KINDS:
            raise unknown_kind("module equality", mod_eq_name, _KINDS)
        return _KINDS[mod_eq_name]()


class Structural(ModuleEquality):
    """Nothing but names may differ."""

    def hash(self, mod: IRModule) -> int:
        """The structural hash."""
        return structural_hash(mod, map_free_vars=True)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality."""
        return structural_equal(lhs, rhs)


class IgnoreTensor(ModuleEquality):
    """The numbers in constants may differ."""

    def hash(self, mod: IRModule) -> int:
        """The structural hash without the numbers in constants."""
        return structural_hash(mod, map_free_vars=True, skip_tensor_content=True)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality but for the numbers in constants."""
        return structural_equal(lhs, rhs, skip_tensor_content=True)


class AnchorBlock(IgnoreTensor):
    """Modules with the same anchor block are equal; without one, all of them counts."""

    def hash(self, mod: IRModule) -> int:
        """The hash of the anchor block."""
        block = find_anchor_block(mod)
        if block is None:
            return super().hash(mod)
        return structural_hash(block, map_free_vars=True, skip_tensor_content=True)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Whether the anchor blocks are equal."""
        left, right = find_anchor_block(lhs), find_anchor_block(rhs)
        if left is None or right is None:
            return left is right and super().equal(lhs, rhs)
        return structural_equal(left, right, map_free_vars=True, skip_tensor_content=True)


_KINDS: dict[str, type[ModuleEquality]] = {
    "structural": Structural,
    "ignore-tensor": IgnoreTensor,
    "ignore-ndarray": IgnoreTensor,  # the name of earlier releases
    "anchor-block": AnchorBlock,
}
