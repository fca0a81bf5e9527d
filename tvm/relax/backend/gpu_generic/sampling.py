"""Drawing classes by uniform numbers: the first class up to which the probabilities exceed one."""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from tvm.tir.function import PrimFunc
from tvm.tir.script import language as T

from .cumsum import block_of, scan_of_block


def gpu_multinomial_from_uniform(
    prob_dtype: str = "float32",
    sample_dtype: str = "float32",
    sample_indices_dtype: str = "int64",
    dtype: str = "int64",
    ty_len: int = 4,
    tx_len: int = 32,
    thread_elem: int = 4,
    eps: float = 1e-6,
) -> PrimFunc:
    """The kernel: a block of threads for each draw sums its row tile by tile, and looks.

    (batch, classes), (n, 1), (n, 1) -> (n, 1). A class whose sum comes within `eps` of the number
    is taken; where none is, the last one.
    """
    threads, steps = block_of(ty_len, tx_len, thread_elem, "gpu_multinomial_from_uniform")
    tile = threads * thread_elem
    last = steps % 2  # of the two arrays of sums, the one that the last step writes
    scan = scan_of_block(thread_elem, steps, prob_dtype)

    @T.prim_func(private=True)
    def parallel_sampling_from_prob(
        var_prob: T.handle,
        var_uniform_samples: T.handle,
        var_row_indices: T.handle,
        var_sampled_token_ids: T.handle,
    ):
        T.func_attr({"tir.is_scheduled": True, "tir.noalias": True})
        n, vocab_size, batch_size = T.int64(), T.int64(), T.int64()
        prob = T.match_buffer(var_prob, (n, vocab_size), prob_dtype)
        uniform_samples = T.match_buffer(var_uniform_samples, (batch_size, 1), sample_dtype)
        row_indices = T.match_buffer(var_row_indices, (batch_size, 1), sample_indices_dtype)
        token_ids = T.match_buffer(var_sampled_token_ids, (batch_size, 1), dtype)
        for bx in T.thread_binding(batch_size, thread="blockIdx.x"):
            for ty in T.thread_binding(ty_len, thread="threadIdx.y"):
                for tx in T.thread_binding(tx_len, thread="threadIdx.x"):
                    with T.block("sample"):
                        T.reads(prob[0:n, 0:vocab_size], uniform_samples[bx, 0], row_indices[bx, 0])
                        T.writes(token_ids[bx, 0])
                        sums = T.alloc_buffer((2, threads), prob_dtype, scope="shared")
                        own = T.alloc_buffer((thread_elem,), prob_dtype, scope="local")
                        carry = T.alloc_buffer((1,), prob_dtype, scope="local")
                        wanted = T.alloc_buffer((1,), prob_dtype, scope="local")
                        before = T.alloc_buffer((1,), prob_dtype, scope="local")
                        chosen = T.alloc_buffer((1,), "int64", scope="local")
                        t: T.int32 = ty * tx_len + tx
                        row: T.int64 = T.Cast("int64", row_indices[bx, 0])
                        carry[0] = T.cast(0, prob_dtype)
                        wanted[0] = T.max(
                            T.cast(uniform_samples[bx, 0], prob_dtype) - T.cast(eps, prob_dtype),
                            T.cast(0, prob_dtype),
                        )
                        if t == 0:
                            token_ids[bx, 0] = T.cast(vocab_size - T.int64(1), dtype)
                        for part in T.serial(T.ceildiv(vocab_size, T.int64(tile))):
                            first: T.int64 = part * T.int64(tile) + T.Cast("int64", t * thread_elem)
                            for e in T.unroll(thread_elem):
                                own[e] = T.if_then_else(
                                    first + T.Cast("int64", e) < vocab_size,
                                    prob[row, first + T.Cast("int64", e)],
                                    T.cast(0, prob_dtype),
                                )
                            scan(own, sums, t)
                            before[0] = carry[0] + T.if_then_else(
                                t > 0, sums[last, t - 1], T.cast(0, prob_dtype)
                            )
                            # one's end is the next one's beginning, to the bit: some thread finds
                            # the number between its two
                            if before[0] <= wanted[0] and carry[0] + sums[last, t] > wanted[0]:
                                chosen[0] = first + T.int64(thread_elem - 1)
                                for back in T.unroll(1, thread_elem):
                                    if before[0] + own[thread_elem - 1 - back] > wanted[0]:
                                        chosen[0] = first + T.Cast("int64", thread_elem - 1 - back)
                                token_ids[bx, 0] = T.cast(
                                    T.min(chosen[0], vocab_size - T.int64(1)), dtype
                                )
                            carry[0] = carry[0] + sums[last, threads - 1]
                            T.tvm_storage_sync("shared")

    return parallel_sampling_from_prob


def generic_get_sample_index(
    prob_dtype: str = "float32",
    sample_dtype: str = "float32",
    sample_indices_dtype: str = "int64",
    dtype: str = "int64",
) -> PrimFunc:
    """The search alone, in running sums of the probabilities."""

    @T.prim_func(private=True)
    def _get_sample_index(A: T.handle, B: T.handle, C: T.handle, D: T.handle):
        batch, vocab_size = T.int64(), T.int64()
        prob = T.match_buffer(A, (batch, vocab_size), prob_dtype)
        out_batch = T.int64()
        usample = T.match_buffer(B, (out_batch, 1), sample_dtype)
        sample_indices = T.match_buffer(C, (out_batch, 1), sample_indices_dtype)
        output_index = T.match_buffer(D, (out_batch, 1), dtype)
        for ax0, ax1 in T.grid(out_batch, vocab_size):
            with T.block("T_get_sample_index"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.writes(output_index[v_ax0, 0])
                if (
                    usample[v_ax0, T.int64(0)] < prob[sample_indices[v_ax0, T.int64(0)], v_ax1]
                    or v_ax1 + 1 == vocab_size
                ):
                    if v_ax1 == 0:
                        output_index[v_ax0, 0] = 0
                    elif (
                        usample[v_ax0, T.int64(0)]
                        >= prob[sample_indices[v_ax0, T.int64(0)], v_ax1 - 1]
                    ):
                        output_index[v_ax0, 0] = v_ax1

    return _get_sample_index
