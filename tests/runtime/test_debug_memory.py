"""Guarded memory: stores and loads outside of buffers become errors that name them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(sys.platform != "linux", reason="guard pages are Linux's"),
]

KERNELS = """
import numpy as np, tvm
from tvm import relax
from tvm.script import tir as T

@T.prim_func
def behind(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    for i in range(17):
        out[i] = a[0]

@T.prim_func
def behind_odd(a: T.Buffer((5,), "float32"), out: T.Buffer((5,), "float32")):
    for i in range(6):
        out[i] = a[0]

@T.prim_func
def before(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    for i in range(1025):
        out[i - 1024] = T.float32(0)

@T.prim_func
def reads(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    for i in range(16):
        out[i] = a[i + 1]

@T.prim_func
def scratch(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    mine = T.alloc_buffer((16,), "float32")
    for i in range(32):
        mine[i] = a[0]
    for i in range(16):
        out[i] = mine[i]

@T.prim_func
def task(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    for i in T.parallel(2):
        for j in range(17):
            out[i * 16 + j] = a[0]

@T.prim_func
def right(a: T.Buffer((16,), "float32"), out: T.Buffer((16,), "float32")):
    for i in range(16):
        out[i] = a[i]

def run(kernel, n=16):
    # the compiler would see constant indices outside of their buffers
    func = tvm.compile(kernel, target="llvm")[kernel.attrs["global_symbol"]]
    tensors = [tvm.runtime.tensor(np.ones(n, "float32")) for _ in range(2)]
    func(*tensors)
    return tensors[1].numpy()

def refused(kernel, n=16):
    try:
        run(kernel, n)
    except IndexError as err:
        print(str(err).replace("\\n", "|"))
    else:
        print("nothing")
"""


def told(program: str) -> list[str]:
    env = {**os.environ, "TVM_DEBUG_MEMORY": "1", "TVM_NUM_THREADS": "2"}
    # programs need a file: TVMScript reads the source of its functions
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(KERNELS + program)
        file.flush()
        done = subprocess.run(
            [sys.executable, file.name], env=env, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_stores_and_loads_outside_are_named() -> None:
    lines = told(
        "for k in (behind, before, reads, scratch, task): refused(k)\n"
        "refused(behind_odd, 5)\n"
        "print(run(right).sum())\n"
    )
    expected = [
        ("kernel behind ", "it writes 0 bytes behind the end of out, which has 64 bytes"),
        ("kernel before ", "bytes before the start of out, which has 64 bytes"),
        ("kernel reads ", "it reads 0 bytes behind the end of a, which has 64 bytes"),
        ("kernel scratch ", "it writes 0 bytes behind the end of mine, which has 64 bytes"),
        ("kernel task ", "it writes 0 bytes behind the end of out, which has 64 bytes"),
        ("kernel behind_odd ", "it writes 0 bytes behind the end of out, which has 20 bytes"),
    ]
    assert len(lines) == len(expected) + 1, lines
    for line, (kernel, what) in zip(lines, expected):
        assert kernel in line
        assert what in line
    assert lines[-1] == "16.0"


def test_networks_run_in_guarded_memory() -> None:
    lines = told(
        "block = relax.BlockBuilder()\n"
        "x = relax.Var('x', relax.TensorStructInfo((3, 5), 'float32'))\n"
        "with block.function('main', [x]):\n"
        "    y = block.emit(relax.op.nn.softmax(relax.op.matmul(x, relax.op.permute_dims(x))))\n"
        "    block.emit_func_output(y)\n"
        "vm = relax.VirtualMachine(tvm.compile(block.get(), target='llvm'), tvm.cpu())\n"
        "for _ in range(3): got = vm['main'](np.ones((3, 5), 'float32')).numpy()\n"
        "print(abs(got - 1 / 3).max() < 1e-6)\n"
    )
    assert lines == ["True"]
