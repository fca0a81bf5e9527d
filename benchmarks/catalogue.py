"""What a network to measure is: how it is written to a file, and its inputs at three sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Network:
    """How a network is written to a file, and its inputs at three sizes."""

    name: str
    write: Callable[[Path], None]
    inputs: Callable[[int], Feeds]
    sizes: int = 3


NETWORKS: dict[str, Network] = {}


def add(
    name: str, write: Callable[[Path], None], inputs: Callable[[int], Feeds], sizes: int = 3
) -> None:
    """Enter a network."""
    assert name not in NETWORKS, name
    NETWORKS[name] = Network(name, write, inputs, sizes)


def rng(which: int) -> np.random.Generator:
    """Numbers that are the same in each run."""
    return np.random.default_rng(which)


def images(
    name: str, sizes: Sequence[tuple[int, ...]], kind: str = "float32"
) -> Callable[[int], Feeds]:
    """Random pictures of three sizes."""
    return lambda which: {name: rng(which).standard_normal(sizes[which]).astype(kind)}


def file_of(folder: Path, name: str) -> Path:
    """Where a network's file lies."""
    return folder / (name.replace(" ", "_") + ".onnx")
