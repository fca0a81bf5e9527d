"""Postprocessors: each finishes or refuses a schedule whose decisions have been made."""

from .disallow_async_strided_mem_copy import DisallowAsyncStridedMemCopy
from .disallow_dynamic_loop import DisallowDynamicLoop
from .postproc import Postproc, PyPostproc, create
from .rewrite_cooperative_fetch import RewriteCooperativeFetch
from .rewrite_layout import RewriteLayout
from .rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll
from .rewrite_reduction_block import RewriteReductionBlock
from .rewrite_tensorize import RewriteTensorize
from .rewrite_unbound_block import RewriteUnboundBlock
from .verify_gpu_code import VerifyGPUCode
from .verify_vtcm_limit import VerifyVTCMLimit

__all__ = [
    "DisallowAsyncStridedMemCopy", "DisallowDynamicLoop", "Postproc", "PyPostproc",
    "RewriteCooperativeFetch", "RewriteLayout", "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock", "RewriteTensorize", "RewriteUnboundBlock", "VerifyGPUCode",
    "VerifyVTCMLimit", "create",
]  # fmt: skip
