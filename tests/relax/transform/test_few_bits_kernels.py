"""Kernels with weights of few bits, made anew for a target."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.ir.module import IRModule
from tvm.relax.transform.few_bits_kernels import FewBitsKernels
from tvm.target import Target
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import MADE_FOR, Packed


@pytest.mark.pure
def test_kernels_are_made_anew_where_it_helps() -> None:
    """The pass keeps others, and names; weights of 8 bits need an instruction for four bytes."""
    funcs = {form: few_bits.product(form, Packed(32, 64, form), 1)
             for form in ("int8", "int4", "float16")}  # fmt: skip
    for cpu, changed in (("cascadelake", ["int8", "int4"]), ("haswell", ["int4"]), ("nehalem", [])):
        mod = FewBitsKernels(Target(f"llvm -mcpu={cpu}"))(IRModule(funcs))
        for form, func in funcs.items():
            made = mod[form]
            assert isinstance(made, tvm.tir.PrimFunc)
            assert made.attrs["global_symbol"] == form
            assert (made.body is not func.body) == (form in changed)
            assert MADE_FOR not in made.attrs
    only = IRModule({"main": relax.Function([], relax.Tuple([]))})
    assert FewBitsKernels(Target("llvm"))(only).same_as(only)
