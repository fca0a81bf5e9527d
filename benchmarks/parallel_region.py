"""What a parallel region costs: tasks that do nothing, and tasks that must run side by side.

    python benchmarks/parallel_region.py [THREADS]

The second kind cannot be finished by one thread alone: each task waits until all have started.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

import numpy as np

from tvm import runtime
from tvm.backend.llvm import host, jit
from tvm.runtime.threads import config_threads

SAMPLES = 20_000
MEETINGS = 2_000

TEXT = """
declare i32 @TVMBackendParallelLaunch(ptr, ptr, i32)
define i32 @nothing.task(i32 %id, ptr %env, ptr %closure) {
  ret i32 0
}
define i32 @meet.task(i32 %id, ptr %env, ptr %started) {
entry:
  %p = getelementptr i8, ptr %env, i64 8
  %count = load i32, ptr %p, align 4
  %before = atomicrmw add ptr %started, i32 1 seq_cst
  br label %wait
wait:
  %now = load atomic i32, ptr %started acquire, align 4
  %all = icmp sge i32 %now, %count
  br i1 %all, label %end, label %wait
end:
  ret i32 0
}
define i32 @nothing() {
  %r = call i32 @TVMBackendParallelLaunch(ptr @nothing.task, ptr null, i32 0)
  ret i32 %r
}
define i32 @meet(ptr %started) {
  store atomic i32 0, ptr %started seq_cst, align 4
  %r = call i32 @TVMBackendParallelLaunch(ptr @meet.task, ptr %started, i32 0)
  ret i32 %r
}
"""


def microseconds(call: Callable[[], object], samples: int, pause_s: float = 0.0) -> np.ndarray:
    """Times of single regions; with a pause before each, workers have gone to sleep."""
    times = np.empty(samples)
    for i in range(samples):
        if pause_s:
            time.sleep(pause_s)
        start = time.perf_counter_ns()
        call()
        times[i] = (time.perf_counter_ns() - start) / 1000
    return times


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 1:
        config_threads(int(sys.argv[1]))
    functions = host.host_functions()
    content = jit.emit_object(TEXT, jit.host_machine())
    linked = jit.link(content, ["nothing", "meet"], functions)
    nothing = ctypes.CFUNCTYPE(ctypes.c_int32)(linked.address("nothing"))
    meet = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(linked.address("meet"))
    started = ctypes.c_int32()
    place = ctypes.addressof(started)
    plain = ctypes.CFUNCTYPE(ctypes.c_int32)(functions["tvm_rt_num_threads"])
    rows = {
        "call from Python, no region": microseconds(plain, SAMPLES),
        "empty region": microseconds(nothing, SAMPLES),
        "all tasks side by side": microseconds(lambda: meet(place), MEETINGS),
        "the same, workers asleep": microseconds(lambda: meet(place), 100, pause_s=0.01),
    }
    print(f"{runtime.num_threads()} threads; microseconds, with the call from Python")
    print(f"{'region':<30}{'median':>10}{'p99':>10}{'max':>10}")
    for name, times in rows.items():
        p50, p99 = np.percentile(times, [50, 99])
        print(f"{name:<30}{p50:>10.2f}{p99:>10.2f}{times.max():>10.2f}")


if __name__ == "__main__":
    main()
