"""Attention of one new token, as decoders write it: against a cache that grows, or a buffer."""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr

from .attention import Heads, counted, scale_of, three_parts, with_bias
from .cache_buffers import in_buffers
from .node import Node
from .registry import Result, convert


@convert("com.microsoft.DecoderMaskedMultiHeadAttention")
def decoder_masked_multi_head_attention(node: Node) -> Result:
    """Of packed or separate tensors; keys (batch, heads, sequence, size) are those of an encoder.

    With `past_present_share_buffer` the caches are as long as they will ever be, and the new key
    is written behind those that count. Of several texts to a prompt, `cache_indirection` says
    which one each of these keys is of.
    """
    heads, bb = int(node.required("num_heads")), node.bb
    parts = three_parts(node, heads)
    if node.has(10):
        parts = with_bias(node, parts, node[10], heads)
    attended = Heads(node, *parts)
    present: list[RelaxExpr] | None = None
    if node.has(5) and node.attr("past_present_share_buffer", 0):
        present = in_buffers(node, attended, 5, 7, 9)
    elif node.has(5):
        attended.behind(node[5], node[6])
    biases = counted(node, attended, 3)
    if node.has(4):
        biases.append(node[4])
    out = bb.emit(attended.attend(biases, scale=scale_of(node)))
    results = [out, *(present or (attended.present() if node.wants(1) or node.wants(2)
                                  else [out, out]))]  # fmt: skip
    if node.wants(3):
        results.append(attended.scores(biases, scale_of(node)))
    return results
