"""Each source file has its test file: tvm/a/b.py has tests/a/test_b.py, or one that covers it."""

from __future__ import annotations

import pytest

from tests.structure.sources import PACKAGE, ROOT, show, sources

pytestmark = pytest.mark.pure

# Sources (or folders, ending in "/") whose test has another name, and why.
COMMANDS = "commands are tested as a user runs them, in a process of their own"
MAPS = "one subject: detection, division and inverses of maps check each other"
NORMS = ("tests/topi/nn/test_normalisations.py", "all share one formula")
CONVOLUTIONS = ("tests/topi/nn/test_convolutions.py", "all have one definition")
REARRANGED = ("tests/topi/nn/test_rearrangements.py", "they move elements and no more")
COVERED_BY: dict[str, tuple[str, str]] = {
    "tvm/arith/_ffi_api.py": ("tests/arith/test_domain_touched.py", "two names of functions"),
    "tvm/arith/iter_map_nodes.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_rewrite.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_subspace.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/rules/": ("tests/arith/test_rules.py", "all rules are tried out by one test"),
    "tvm/tir/float_math/": (
        "tests/tir/float_math/test_float_math.py", "all functions are compared alike",
    ),
    "tvm/__main__.py": ("tests/end_to_end/test_cli.py", "two lines that call the command line"),
    "tvm/exec/bench.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/compile.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/library.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/run.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/topi/nn/batch_norm.py": NORMS,
    "tvm/topi/nn/group_norm.py": NORMS,
    "tvm/topi/nn/instance_norm.py": NORMS,
    "tvm/topi/nn/layer_norm.py": NORMS,
    "tvm/topi/nn/norm_parts.py": NORMS,
    "tvm/topi/nn/rms_norm.py": NORMS,
    "tvm/topi/nn/conv1d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv1d_transpose.py": CONVOLUTIONS,
    "tvm/topi/nn/conv2d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv2d_transpose.py": CONVOLUTIONS,
    "tvm/topi/nn/conv3d.py": CONVOLUTIONS,
    "tvm/topi/nn/conv3d_transpose.py": CONVOLUTIONS,
    "tvm/topi/nn/conv_transpose_nd.py": CONVOLUTIONS,
    "tvm/topi/nn/depthwise_conv2d.py": CONVOLUTIONS,
    "tvm/topi/nn/batch_to_space_nd.py": REARRANGED,
    "tvm/topi/nn/depth_to_space.py": REARRANGED,
    "tvm/topi/nn/fifo_buffer.py": REARRANGED,
    "tvm/topi/nn/flatten.py": REARRANGED,
    "tvm/topi/nn/mapping.py": REARRANGED,
    "tvm/topi/nn/pixel_shuffle.py": REARRANGED,
    "tvm/topi/nn/space_to_batch_nd.py": REARRANGED,
    "tvm/topi/nn/space_to_depth.py": REARRANGED,
}


def _mirror(source: str) -> str:
    folder, _, name = source.removeprefix("tvm/").rpartition("/")
    return "/".join(filter(None, ["tests", folder, f"test_{name}"]))


def _cover(source: str) -> str:
    """The test file that the table gives the source, by its own name or its nearest folder."""
    name = source
    while name:
        if name in COVERED_BY:
            return COVERED_BY[name][0]
        head, _, _ = name.rstrip("/").rpartition("/")
        name = f"{head}/" if head else ""
    return _mirror(source)


def test_each_source_has_a_test() -> None:
    named = [show(p) for p in sources() if p.name != "__init__.py"]
    missing = [f"{s}: no {_cover(s)}" for s in named if not (ROOT / _cover(s)).is_file()]
    assert not missing, "\n" + "\n".join(missing)


def test_the_table_names_what_exists() -> None:
    gone = [name for name in COVERED_BY if not (ROOT / name).exists()]
    assert not gone
    assert PACKAGE.is_dir()
