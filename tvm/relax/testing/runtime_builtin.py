"""The codes that `vm.builtin.match_shape` and `vm.builtin.make_shape` read."""

from tvm.runtime.vm_builtin import MakeShapeCode, MatchShapeCode

__all__ = ["MakeShapeCode", "MatchShapeCode"]
