"""The kinds of stages, as the tags of `te` say them."""

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether each output element reads one element of each input, repeated where needed."""
    return tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    """Whether each output element reads one element of an input, wherever it stands."""
    return tag.startswith((ELEMWISE, BROADCAST, INJECTIVE))
