"""FlashInfer's kernels of attention: compiled by its own package, which has to be there."""

from __future__ import annotations

import importlib.util
from typing import NoReturn

from tvm.error import TVMError, message
from tvm.target import Target


def _refuse(what: str) -> NoReturn:
    """Say what making these kernels lacks here."""
    if importlib.util.find_spec("flashinfer") is None:
        raise ImportError(
            message(
                f"{what}: FlashInfer is not installed",
                found="no Python package flashinfer",
                legal="TIRPagedKVCache, whose kernels are made here",
            )
        )
    raise TVMError(
        message(
            f"{what}: FlashInfer's kernels cannot be linked",
            found="C++ sources written against headers that this library has none of",
            legal="TIRPagedKVCache, whose kernels are made here",
        )
    )


def gen_flashinfer_prefill_module(
    dtype_q: str,
    dtype_kv: str,
    dtype_o: str,
    qk_head_dim: int,
    v_head_dim: int,
    enable_inline_rope: bool,
    return_static_libs: bool = False,
) -> NoReturn:
    """The kernels that read a prompt; raises with what they need."""
    _refuse("gen_flashinfer_prefill_module")


def gen_flashinfer_decode_module(
    dtype_q: str,
    dtype_kv: str,
    dtype_o: str,
    qk_head_dim: int,
    v_head_dim: int,
    enable_inline_rope: bool,
    return_static_libs: bool = False,
) -> NoReturn:
    """The kernels that make one more token; raises with what they need."""
    _refuse("gen_flashinfer_decode_module")


def gen_flashinfer_mla_module(
    dtype_q: str,
    dtype_kv: str,
    dtype_o: str,
    head_dim_ckv: int,
    head_dim_kpe: int,
    return_static_libs: bool = False,
) -> NoReturn:
    """The kernels of attention over compressed heads; raises with what they need."""
    _refuse("gen_flashinfer_mla_module")


def gen_grouped_gemm_module(target: Target, return_static_libs: bool = False) -> NoReturn:
    """The products of groups of matrices; raises with what they need."""
    _refuse("gen_grouped_gemm_module")
