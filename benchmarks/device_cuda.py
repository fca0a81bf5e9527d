"""What runs on a real NVIDIA GPU, and how fast: one command on a machine that has one.

    python -m benchmarks.device_cuda --out folder [--only word] [--seconds 240] [--jobs 14]

Each check is a process of its own, as a fault of a kernel ends the use of a device by its process;
many run at once. Then speeds are measured, one after the other: milliseconds by the device's
clock of a graph of launches, beside torch's and beside two floors, the bytes that must move and
the sums that must be made, at the rates that this device reaches here. A table comes last;
`report.txt` and `log.txt` in the folder have all that was said.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tvm
from benchmarks import device_operators, device_speed
from tests.backend.device.programs import PROGRAMS
from tests.relax.op.cases import CASES
from tests.runtime.device_api import networks, programs
from tvm import relax
from tvm.relax import op as o
from tvm.runtime.device_api import kinds
from tvm.target import Target

CHECKS: dict[str, Callable[[], str | None]] = {}
SHARDS = 12  # of the operators


def check(func: Callable[[], str | None]) -> Callable[[], str | None]:
    """A check; it raises where something is wrong, and may say something."""
    CHECKS[func.__name__] = func
    return func


def device() -> Any:
    return tvm.cuda(0)


def api() -> Any:
    return kinds.api_of("cuda")


def cuda_target() -> Target:
    """The target of the device that is here."""
    return Target({"kind": "cuda", "arch": f"sm_{device().compute_version.replace('.', '')}"},
                  "llvm")  # fmt: skip


# --- the device, its memory, its streams ---


@check
def attributes() -> str:
    dev = device()
    assert dev.exist, "no device"
    assert not tvm.cuda(99).exist
    names = ("device_name", "compute_version", "warp_size", "max_threads_per_block",
             "max_shared_memory_per_block", "multi_processor_count", "max_clock_rate",
             "max_thread_dimensions", "api_version", "driver_version", "l2_cache_size_bytes",
             "total_global_memory", "available_global_memory")  # fmt: skip
    return "; ".join(f"{name} {getattr(dev, name)}" for name in names)


@check
def tensors() -> None:
    dev = device()
    for dtype in ("float32", "float64", "int8", "bool", "float16", "bfloat16", "int64", "uint8",
                  "float8_e4m3fn"):  # fmt: skip
        values = np.arange(15).reshape(3, 5) % 7
        back = tvm.runtime.empty((3, 5), dtype, dev).copyfrom(values).numpy()
        np.testing.assert_array_equal(back.astype("f4"), values.astype(back.dtype).astype("f4"))
    whole = tvm.runtime.tensor(np.arange(64, dtype="float32"), dev)
    part = whole._create_view((4, 4), "float32", 64) if hasattr(whole, "_create_view") else None
    if part is not None:
        np.testing.assert_array_equal(part.numpy().ravel(), np.arange(16, 32))
    again = whole.copyto(dev)
    assert again.data_ptr() != whole.data_ptr()
    np.testing.assert_array_equal(again.copyto(tvm.cpu()).numpy(), np.arange(64))
    large = np.random.default_rng(0).random((1 << 26,), "float32")
    np.testing.assert_array_equal(tvm.runtime.tensor(large, dev).numpy(), large)


@check
def memory_that_is_not_there() -> None:
    try:
        tvm.runtime.empty((1 << 45,), "float32", device())
    except MemoryError as err:
        assert "float32" in str(err), str(err)  # noqa: PT017
    else:
        raise AssertionError("no MemoryError")
    tvm.runtime.empty((1 << 20,), "float32", device())  # the device goes on


@check
def torch_by_dlpack() -> None:
    import torch

    x = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4)
    ours = tvm.runtime.from_dlpack(x)
    assert ours.data_ptr() == x.data_ptr()
    vm = programs.machine(programs.module(o.exp, programs.floats(3, 4)), device())
    out = vm["main"](ours)
    theirs = torch.from_dlpack(out)
    assert theirs.data_ptr() == out.data_ptr()
    torch.testing.assert_close(theirs, x.exp())


@check
def torch_streams() -> None:
    """Work in torch's stream comes after torch's own there."""
    import torch
    import tvm_ffi

    x = programs.floats(1 << 22)
    vm = programs.machine(programs.module(lambda v: o.add(v, v), x), device())
    stream = torch.cuda.Stream()
    with tvm_ffi.use_torch_stream(torch.cuda.stream(stream)):
        big = torch.randn(4096, 4096, device="cuda")
        for _ in range(20):
            big = big @ big * 1e-2
        held = torch.from_numpy(x).cuda(non_blocking=True) + 0 * big.sum().nan_to_num(0)
        for _ in range(3):
            held = torch.from_dlpack(vm["main"](tvm.runtime.from_dlpack(held))) + 1
        found = held.cpu()
    np.testing.assert_allclose(found.numpy(), 8 * x + 7, rtol=1e-5)


@check
def cupy_by_dlpack() -> None:
    import cupy

    x = cupy.arange(12, dtype="float32").reshape(3, 4)
    ours = tvm.runtime.from_dlpack(x)
    np.testing.assert_array_equal(ours.numpy(), np.arange(12).reshape(3, 4))
    back = cupy.from_dlpack(tvm.runtime.tensor(programs.floats(5, 2), device()))
    np.testing.assert_array_equal(cupy.asnumpy(back), programs.floats(5, 2))


def _of_the_stand_in(name: str) -> Callable[[], None]:
    def run() -> None:
        from tests.runtime.device_api import cuda_programs

        cuda_programs.api = api()
        getattr(cuda_programs, name)()

    run.__name__ = name
    return run


for _name in ("graphs", "streams_follow_each_other", "threads_have_streams", "memory_comes_back",
              "numbers_as_arguments", "launches_are_recorded", "regions_of_graphs_are_recorded",
              "exported_programs"):  # fmt: skip
    check(_of_the_stand_in(_name))


@check
def time_is_the_device_s() -> str:
    x = programs.floats(1 << 24)
    vm = programs.machine(programs.module(o.exp, x), device())
    given = tvm.runtime.tensor(x, device())
    timed = vm.time_evaluator("main", device(), number=10, repeat=3)(given)
    assert 1e-5 < timed.mean < 1e-2, timed
    return f"exp of 16 M: {timed.mean * 1e6:.1f} us"


@check
def shared_memory_beyond_48_kb() -> None:
    import ctypes

    from tvm.contrib import nvrtc
    from tvm.runtime.cuda_module import CUDAModule
    from tvm.runtime.device_api.api import DYNAMIC_SHARED
    from tvm.support.kernel_info import KernelInfo

    code = ('extern "C" __global__ void turned(float* a, short less) {\n'
            "  extern __shared__ float rows[];\n  rows[threadIdx.x + 40000] = a[threadIdx.x];\n"
            "  __syncthreads();\n  a[threadIdx.x] = rows[40063 - threadIdx.x] - less;\n}\n"
            )  # fmt: skip
    arch = str(cuda_target().attrs["arch"])
    info = KernelInfo(("handle", "int16"), ("threadIdx.x", DYNAMIC_SHARED))
    for form in ("cubin", "ptx"):
        module: Any = CUDAModule(nvrtc.compile_source(code, form, arch), form, {"turned": info})
        x = programs.floats(64)
        given = tvm.runtime.tensor(x, device())
        module["turned"](ctypes.c_void_p(given.data_ptr()), -2, 64, 180_000)
        np.testing.assert_allclose(given.numpy(), x[::-1] + 2, rtol=1e-6)


@check
def programs_of_tir() -> str:
    """The programs of the tests of all languages."""
    failed, count = [], 0
    for name, one in PROGRAMS.items():
        if "cuda" in one.not_in:
            continue
        count += 1
        try:
            built = tvm.compile(tvm.IRModule({"main": one.func}), cuda_target())
            args = one.make(np.random.default_rng(7))
            wanted = one.meaning(*args[:-1])
            there = [tvm.runtime.tensor(a, device()) if isinstance(a, np.ndarray) else a
                     for a in args]  # fmt: skip
            built["main"](*there)
            np.testing.assert_allclose(
                there[-1].numpy().astype("f8"), np.asarray(wanted, "f8"), rtol=one.tolerance,
                atol=one.tolerance,
            )  # fmt: skip
        except Exception as err:
            failed.append(f"{name}: {type(err).__name__}: {' | '.join(str(err).splitlines()[:8])}")
    assert not failed, "\n".join(failed)
    return f"{count} right"


@check
def graphs_of_operators() -> None:
    for make, arrays in programs.CASES.values():
        programs.compare(device(), make, *arrays)


def _product(m: int, n: int, k: int, dtype: str, out: str | None = None) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
    mod = programs.module(lambda x, y: o.matmul(x, y, out_dtype=out), a, b)
    vm = relax.VirtualMachine(tvm.compile(mod, cuda_target()), device())
    found = vm["main"](*[tvm.runtime.tensor(x, device()) for x in (a, b)]).numpy().astype("f8")
    wanted = a.astype("f8") @ b.astype("f8")
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert error < (1e-5 if dtype == "float32" else 2e-3), f"{(m, n, k, dtype)}: {error}"


@check
def products() -> None:
    """Tensor cores and tiles in registers, at sizes that fit tiles and that do not."""
    for m, n, k in ((256, 256, 256), (384, 640, 192), (200, 333, 77), (1, 512, 300), (65, 70, 90)):
        for dtype, out in (("float32", None), ("float16", None), ("float16", "float32")):
            _product(m, n, k, dtype, out)


@check
def bfloat16_and_float8() -> None:
    import ml_dtypes

    x = programs.floats(6, 64)
    for dtype in (ml_dtypes.bfloat16,):
        given = x.astype(dtype)
        vm = programs.machine(programs.module(lambda v: o.nn.softmax(o.add(v, v)), given), device())
        found = vm["main"](given).numpy().astype("f4")
        grown = np.exp(2 * x - (2 * x).max(-1, keepdims=True))
        np.testing.assert_allclose(found, grown / grown.sum(-1, keepdims=True), rtol=0.05)


def _network(name: str) -> Callable[[], str]:
    def run() -> str:
        mod, x = networks.GRAPHS[name]()
        wanted = programs.machine(mod, tvm.cpu())["main"](x).numpy()
        found = programs.machine(mod, device())["main"](x).numpy()
        error = np.abs(found - wanted).max() / np.abs(wanted).max()
        assert error < 1e-4, f"off by {error} of the largest"
        return f"largest error {error:.2g} of the largest value"

    run.__name__ = f"network_{name}"
    return run


for _name in networks.GRAPHS:
    check(_network(_name))


@check
def network_decoder() -> str:
    wanted = networks.decoded(tvm.cpu())
    found = networks.decoded(device())
    error = np.abs(found - wanted).max() / np.abs(wanted).max()
    assert error < 1e-4, f"off by {error} of the largest"
    return f"largest error {error:.2g} of the largest value"


@check
def thousand_runs_return_memory() -> str:
    mod, x = networks.transformer()
    vm = programs.machine(mod, device())
    given = tvm.runtime.tensor(x, device())
    vm["main"](given)
    before, free = api().memory_in_use(0), device().available_global_memory
    for _ in range(1000):
        vm["main"](given)
        assert api().memory_in_use(0) == before
    lost = free - device().available_global_memory
    assert lost <= 4 << 20, f"{lost} bytes"
    return f"{lost} bytes of the device less than before"


@check
def tests_of_the_repository() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header",
         "tests/runtime/device_api/test_cuda.py", "tests/runtime/device_api/test_api.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout.strip().splitlines()[-1]


# --- all operators, in shards ---


def operators(shard: int) -> None:
    """The operators of a shard; a fault of the device goes on in a new process."""
    first = int(os.environ.get("FIRST_CASE", "0"))
    for number, case in list(enumerate(CASES))[shard::SHARDS]:
        if number < first:
            continue
        print(json.dumps(["begin", number, str(case), ""]), flush=True)
        found, said = device_operators.outcome(case, "cuda", device())
        print(json.dumps([found, number, str(case), said[:600]]), flush=True)
        if "CUDA_ERROR" in said:
            os.environ["FIRST_CASE"] = str(number + 1)
            os.execv(sys.executable, [sys.executable, "-m", __spec__.name, "--operators",
                                      str(shard)])  # fmt: skip


# --- running all of it ---


def one_check(name: str) -> int:
    """Run a check in this process; its last line is what it says."""
    start = time.perf_counter()
    try:
        said = CHECKS[name]() or ""
        print(json.dumps(["ok", name, said, time.perf_counter() - start]), flush=True)
    except BaseException:
        print(json.dumps(["FAILED", name, traceback.format_exc()[-6000:],
                          time.perf_counter() - start]), flush=True)  # fmt: skip
        return 1
    return 0


def in_process(
    args: list[str], seconds: float, program: str = "device_cuda"
) -> tuple[list[list[Any]], str]:
    """The lines of JSON that a process says, and its errors."""
    command = [sys.executable, "-m", f"benchmarks.{program}", *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=seconds)  # fmt: skip
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        out = (late.stdout or b"").decode(errors="replace")
        err = f"stopped after {seconds:.0f} s\n" + (late.stderr or b"").decode(errors="replace")
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
    return lines, err


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="device-report")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--no-checks", action="store_true")
    parser.add_argument("--no-operators", action="store_true")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--check", default="")
    parser.add_argument("--operators", type=int, default=-1)
    parser.add_argument("--speed", action="store_true")
    args = parser.parse_args()
    if args.check:
        sys.exit(one_check(args.check))
    if args.operators >= 0:
        operators(args.operators)
        return
    if args.speed:
        device_speed.measure(args.seconds, args.only, Path(args.out) / "made")
        return
    run_all(args)


def run_all(args: argparse.Namespace) -> None:
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + args.seconds
    with (folder / "report.txt").open("w") as report, (folder / "log.txt").open("w") as log:

        def say(text: str) -> None:
            print(text, flush=True)
            print(text, file=report, flush=True)

        names = [] if args.no_checks else [n for n in CHECKS if args.only in n]
        shards = [] if args.no_operators or args.only else list(range(SHARDS))
        share = 0.62 if not args.no_speed else 0.95
        speeds = [] if args.no_speed else [
            n for n in (*device_speed.SPEEDS, *device_speed.NETWORKS) if args.only in n
        ]  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            made = folder / "made"
            made.mkdir(exist_ok=True)
            limit = end - time.monotonic() - (1 - share) * args.seconds
            work = {pool.submit(in_process, ["--check", n], limit): n for n in names}
            work |= {pool.submit(in_process, ["--make", n, str(made)], limit, "device_speed"):
                     f"make {n}" for n in speeds}  # fmt: skip
            work |= {pool.submit(in_process, ["--operators", str(s)], limit): f"operators {s}"
                     for s in shards}  # fmt: skip
            counts: dict[str, int] = {}
            for future in concurrent.futures.as_completed(work):
                lines, err = future.result()
                print(f"--- {work[future]}\n{err[-3000:]}", file=log, flush=True)
                _tell(work[future], lines, err, say, counts)
        if shards:
            say(f"operators: {counts} of {len(CASES)}")
        if not args.no_speed:
            left = max(end - time.monotonic() - 5, 20)
            lines, err = in_process(["--speed", "--seconds", str(left), "--only", args.only,
                                     "--out", str(folder)], left + 4)  # fmt: skip
            print(f"--- speed\n{err[-6000:]}", file=log, flush=True)
            for line in lines:
                say(line[1] if len(line) > 1 else str(line))


def _tell(
    name: str, lines: list[list[Any]], err: str, say: Callable[[str], None], counts: dict[str, int]
) -> None:
    if not name.startswith("operators"):
        if not lines:
            lines = [["FAILED", name, err[-2000:], 0.0]]
        state, _, said, seconds = lines[-1]
        say(f"{state:7}{name} ({seconds:.1f} s) {said}")
        return
    begun: list[Any] | None = None
    for state, number, case, said in lines:
        if state == "begin":
            begun = [number, case]
            continue
        begun = None
        counts[state] = counts.get(state, 0) + 1
        if state != "right":
            say(f"  operator {case}: {state}: {said}")
    if begun is not None:
        counts["stopped"] = counts.get("stopped", 0) + 1
        say(f"  operator {begun[1]}: stopped: {err[-300:]}")


if __name__ == "__main__":
    main()
