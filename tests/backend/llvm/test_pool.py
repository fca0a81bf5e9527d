"""The thread pool: every task once, one error, nesting, several callers, forks, thread counts."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from tvm.backend.llvm import host, jit, pool
from tvm.error import TVMError
from tvm.ffi import library
from tvm.runtime.pool_sharing import TABLE
from tvm.runtime.threads import config_threads

pytestmark = pytest.mark.cpu

# count: add 1 to each of n numbers, n given by the closure; outer: launch `count` inside a region.
TEXT = """
declare i32 @TVMBackendParallelLaunch(ptr, ptr, i32)
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
@kind = private constant [11 x i8] c"ValueError\\00"
@text = private constant [5 x i8] c"task\\00"
define i32 @count.task(i32 %id, ptr %env, ptr %numbers) {
entry:
  %p = getelementptr i8, ptr %env, i64 8
  %n = load i32, ptr %p
  %first = mul i32 %id, 1000
  %from = sdiv i32 %first, %n
  %next = add i32 %id, 1
  %last = mul i32 %next, 1000
  %to = sdiv i32 %last, %n
  br label %loop
loop:
  %i = phi i32 [ %from, %entry ], [ %j, %body ]
  %more = icmp slt i32 %i, %to
  br i1 %more, label %body, label %end
body:
  %q = getelementptr i32, ptr %numbers, i32 %i
  %old = atomicrmw add ptr %q, i32 1 monotonic
  %j = add i32 %i, 1
  br label %loop
end:
  ret i32 0
}
define i32 @count(ptr %numbers, i32 %regions) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %r = call i32 @TVMBackendParallelLaunch(ptr @count.task, ptr %numbers, i32 0)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %regions
  br i1 %more, label %loop, label %end
end:
  ret i32 %r
}
define i32 @outer.task(i32 %id, ptr %env, ptr %numbers) {
  %zero = icmp eq i32 %id, 0
  br i1 %zero, label %inner, label %end
inner:
  %r = call i32 @TVMBackendParallelLaunch(ptr @count.task, ptr %numbers, i32 0)
  ret i32 %r
end:
  ret i32 0
}
define i32 @nested(ptr %numbers) {
  %r = call i32 @TVMBackendParallelLaunch(ptr @outer.task, ptr %numbers, i32 0)
  ret i32 %r
}
define i32 @bad.task(i32 %id, ptr %env, ptr %numbers) {
  %p = getelementptr i32, ptr %numbers, i32 %id
  store i32 1, ptr %p
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @kind, ptr @text)
  ret i32 -1
}
define i32 @__tvm_ffi_bad(ptr %self, ptr %args, i32 %n, ptr %result) {
  %p = getelementptr i8, ptr %args, i64 8
  %numbers = load ptr, ptr %p
  %r = call i32 @TVMBackendParallelLaunch(ptr @bad.task, ptr %numbers, i32 0)
  ret i32 %r
}
"""


def linked(condition_variables: bool) -> jit.Linked:
    """The program on the process's pool, or on one of its own that waits by condition variable."""
    machine = jit.host_machine()
    content = jit.emit_object(TEXT, machine)
    names = jit.defined_names(TEXT)
    if not condition_variables:
        imports = {n: a for n, a in host.host_functions().items()}
        imports["TVMFFIErrorSetRaisedFromCStr"] = _symbol("TVMFFIErrorSetRaisedFromCStr")
        return jit.link(content, names, imports)
    platform = pool.posix(machine.triple.partition("-")[0], exported=False, darwin=False)
    fork = pool.linux("x86_64", exported=False, glibc_in_process=True).fork_hook
    text = host.host_text(pool.PoolPlatform(
        pause=platform.pause, fork_hook=fork, has_affinity=False))  # fmt: skip
    found = {n: jit.process_symbol(n) for n in jit.external_names(text)}
    own = jit.link(jit.emit_object(text, machine), [*host.PUBLIC, TABLE],
                   {n: a for n, a in found.items() if a is not None})  # fmt: skip
    own.keep_forever()
    imports = {n: own.address(n) for n in host.PUBLIC}
    imports["TVMFFIErrorSetRaisedFromCStr"] = _symbol("TVMFFIErrorSetRaisedFromCStr")
    return jit.link(content, names, imports)


def _symbol(name: str) -> int:
    address = jit.process_symbol(name)
    assert address is not None
    return address


@pytest.fixture(scope="module", params=["futex", "condition"])
def program(request: pytest.FixtureRequest) -> jit.Linked:
    return linked(request.param == "condition")


@pytest.fixture
def four_threads():
    config_threads(4)
    yield
    config_threads(0)


def count(program: jit.Linked, numbers: ctypes.Array, regions: int) -> int:
    func = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
    return int(func(program.address("count"))(ctypes.addressof(numbers), regions))


def test_every_iteration_runs_once_a_region(program: jit.Linked, four_threads: None) -> None:
    numbers = (ctypes.c_int32 * 1000)()
    assert count(program, numbers, 200) == 0
    assert set(numbers) == {200}


def test_idle_workers_wake_up_again(program: jit.Linked) -> None:
    numbers = (ctypes.c_int32 * 1000)()
    for _ in range(5):
        assert count(program, numbers, 1) == 0
        threading.Event().wait(0.02)  # longer than workers spin, so that they sleep
    assert set(numbers) == {5}


def test_a_region_inside_a_region_runs_serially(program: jit.Linked) -> None:
    numbers = (ctypes.c_int32 * 1000)()
    func = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(program.address("nested"))
    assert func(ctypes.addressof(numbers)) == 0
    assert set(numbers) == {1}


def test_several_threads_may_call_at_once(program: jit.Linked, four_threads: None) -> None:
    several = [(ctypes.c_int32 * 1000)() for _ in range(4)]
    threads = [threading.Thread(target=count, args=(program, n, 200)) for n in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(numbers) == {200} for numbers in several)


def test_an_error_in_every_task_surfaces_once(program: jit.Linked) -> None:
    bad = library().Function.__from_extern_c__(
        program.address("__tvm_ffi_bad"), keep_alive_object=program
    )
    numbers = (ctypes.c_int32 * 64)()
    for _ in range(20):
        with pytest.raises(ValueError, match=r"^task$"):
            bad(ctypes.c_void_p(ctypes.addressof(numbers)))
    good = (ctypes.c_int32 * 1000)()
    assert count(program, good, 1) == 0
    assert set(good) == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_a_pool_of_its_own() -> None:
    program = linked(False)
    numbers = (ctypes.c_int32 * 1000)()
    assert count(program, numbers, 3) == 0
    child = os.fork()
    if child == 0:
        status = count(program, numbers, 50)
        os._exit(0 if status == 0 and set(numbers) == {53} else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert count(program, numbers, 1) == 0
    assert set(numbers) == {4}


@pytest.mark.parametrize(("variable", "expected"), [
    ({"TVM_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, "2"),
    ({"TVM_NUM_THREADS": "1", "OMP_NUM_THREADS": "2"}, "1"),
    ({"TVM_NUM_THREADS": "junk"}, str(len(os.sched_getaffinity(0)))),
])  # fmt: skip
def test_the_environment_sets_the_number_of_threads(
    variable: dict[str, str], expected: str
) -> None:
    program = (
        "import ctypes, tvm\n"
        "from tvm.backend.llvm.host import host_functions\n"
        "f = ctypes.CFUNCTYPE(ctypes.c_int32)(host_functions()['tvm_rt_num_threads'])\n"
        "print(f(), tvm.runtime.num_threads())\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("TVM_NUM_THREADS", "OMP_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env={**clean, **variable}, check=True
    )
    assert done.stdout.decode().split() == [expected, expected]


def test_a_thread_count_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="legal: 0 to 1024"):
        config_threads(5000)
    assert issubclass(TVMError, RuntimeError)
