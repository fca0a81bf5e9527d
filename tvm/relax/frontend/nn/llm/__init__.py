"""Parts of language models: rotary positions, paged key-value caches, attention over trees."""

from . import kv_cache, position_embedding, tree_attn

__all__ = ["kv_cache", "position_embedding", "tree_attn"]
