"""The thread pool as LLVM text.

One region runs at a time; its whole state is one 64-bit word that threads change by compare and
exchange:

    word = epoch << 32 | tasks in the region << 16 | next task to take

The launcher writes the function and the closure, then publishes a word with a new epoch, takes task
0, and goes on taking tasks like everybody else; so a worker that the system has put aside delays
nothing, its task is done by another thread. A thread that reads function and closure and then wins
the exchange knows that both belong together, since the epoch cannot have changed in between.

Idle workers spin for 20 us, then spin and yield for about a millisecond, then sleep (futex on
Linux, condition variable elsewhere). A launch inside a region, or while another thread's region is
running, runs its tasks in the calling thread. A child process starts with a fresh pool.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.runtime.pool_sharing import OWN_LAUNCH, TABLE

from .types import string_global

SPIN_NS = 20_000
YIELDS = 2000  # sched_yield takes about half a microsecond when nobody else wants the core


@dataclass(frozen=True)
class PoolPlatform:
    """What differs between systems."""

    futex_call: int | None = None  # number of the futex system call; None: condition variable
    pause: str = ""  # an instruction that tells the core it is spinning
    fork_hook: str = "pthread_atfork"
    sigset_bytes: int = 128
    set_mask: int = 2  # SIG_SETMASK
    processors_onln: int = 84  # _SC_NPROCESSORS_ONLN
    has_affinity: bool = True  # sched_getaffinity
    visibility: str = ""  # "hidden" inside an exported library


def linux(machine: str, *, exported: bool, glibc_in_process: bool) -> PoolPlatform:
    """Linux on an architecture named as `platform.machine()` names it."""
    calls = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "armv7l": 240, "ppc64le": 221}
    return PoolPlatform(
        futex_call=calls.get(machine),
        pause=_pause(machine),
        fork_hook="__register_atfork" if glibc_in_process else "pthread_atfork",
        visibility="hidden " if exported else "",
    )


def posix(machine: str, *, exported: bool, darwin: bool) -> PoolPlatform:
    """Any system with POSIX threads."""
    return PoolPlatform(
        pause=_pause(machine),
        sigset_bytes=4 if darwin else 128,
        set_mask=3 if darwin else 2,
        processors_onln=58 if darwin else 84,
        has_affinity=False,
        visibility="hidden " if exported else "",
    )


def _pause(machine: str) -> str:
    """The call that tells the core it is spinning."""
    if machine in ("x86_64", "AMD64", "i686"):
        return "call void @llvm.x86.sse2.pause()"
    # 1 is YIELD in the table of hints of the Arm Architecture Reference Manual
    return "call void @llvm.aarch64.hint(i32 1)" if machine in ("aarch64", "arm64") else ""


_STATE = """
@pool.word = internal global i64 0, align 64
@pool.signal = internal global i32 0, align 64
@pool.sleepers = internal global i32 0, align 64
@pool.busy = internal global i32 0, align 64
@pool.done = internal global i32 0, align 64
@pool.waiting = internal global i32 0, align 64
@pool.func = internal global ptr null, align 64
@pool.closure = internal global ptr null, align 8
@pool.env = internal global { ptr, i32 } zeroinitializer, align 8
@pool.failed = internal global i32 0, align 8
@pool.error = internal global ptr null, align 8
@pool.started = internal global i32 0, align 64
@pool.limit = internal global i32 0, align 8
@pool.spins = internal global i64 0, align 8
@pool.hooked = internal global i32 0, align 8

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()
declare i64 @sysconf(i32)
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i32 @clock_gettime(i32, ptr)
declare void @TVMFFIErrorMoveFromRaised(ptr)
declare void @TVMFFIErrorSetRaised(ptr)
declare i32 @TVMFFIObjectDecRef(ptr)
"""

_LAUNCH = """
; Run func(id, env, closure) for id in [0, count), count = min(wanted, threads); 0 or -1.
define {visibility}i32 @TVMBackendParallelLaunch(ptr %func, ptr %closure, i32 %wanted) nounwind {{
entry:
  %hook = load atomic ptr, ptr @{table} monotonic, align 8
  %given = icmp ne ptr %hook, null
  br i1 %given, label %shared, label %own
shared:
  %r = call i32 %hook(ptr %func, ptr %closure, i32 %wanted)
  ret i32 %r
own:
  %r.own = call i32 @pool.launch(ptr %func, ptr %closure, i32 %wanted)
  ret i32 %r.own
}}

; The same in this pool, whatever the hook says.
define internal i32 @pool.launch(ptr %func, ptr %closure, i32 %wanted) nounwind {{
entry:
  %known = load atomic i32, ptr @pool.limit monotonic, align 4
  %unset = icmp eq i32 %known, 0
  br i1 %unset, label %detect, label %ready
detect:
  %detected = call i32 @pool.detect()
  %put = cmpxchg ptr @pool.limit, i32 0, i32 %detected seq_cst seq_cst
  br label %ready
ready:
  %limit = load atomic i32, ptr @pool.limit monotonic, align 4
  %any = icmp sle i32 %wanted, 0
  %asked = select i1 %any, i32 %limit, i32 %wanted
  %fewer = icmp slt i32 %asked, %limit
  %count = select i1 %fewer, i32 %asked, i32 %limit
  %alone = icmp sle i32 %count, 1
  br i1 %alone, label %serial, label %lock
lock:
  %taken = cmpxchg ptr @pool.busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %taken, 1
  br i1 %mine, label %threads, label %serial
serial:
  %env1 = alloca {{ ptr, i32 }}, align 8
  store {{ ptr, i32 }} {{ ptr null, i32 1 }}, ptr %env1, align 8
  %rc1 = call i32 %func(i32 0, ptr %env1, ptr %closure)
  %bad1 = icmp ne i32 %rc1, 0
  %res1 = sext i1 %bad1 to i32
  ret i32 %res1
threads:
  %started = load i32, ptr @pool.started, align 4
  %enough = icmp sge i32 %started, %limit
  br i1 %enough, label %publish, label %start
start:
  call void @pool.start(i32 %limit)
  br label %publish
publish:
  call void @poll.lead()
  store atomic ptr %func, ptr @pool.func monotonic, align 8
  store atomic ptr %closure, ptr @pool.closure monotonic, align 8
  store i32 %count, ptr getelementptr inbounds (i8, ptr @pool.env, i64 8), align 4
  store i32 0, ptr @pool.failed, align 4
  store ptr null, ptr @pool.error, align 8
  store atomic i32 0, ptr @pool.done monotonic, align 4
  %old = load atomic i64, ptr @pool.word monotonic, align 8
  %old.epoch = lshr i64 %old, 32
  %epoch = add i64 %old.epoch, 1
  %high = shl i64 %epoch, 32
  %count64 = zext i32 %count to i64
  %middle = shl i64 %count64, 16
  %both = or i64 %high, %middle
  %word = or i64 %both, 1
  store atomic i64 %word, ptr @pool.word release, align 8
  %bump = atomicrmw add ptr @pool.signal, i32 1 seq_cst
  %sleepers = load atomic i32, ptr @pool.sleepers seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %work
wake:
  %others = sub i32 %count, 1
  call void @pool.wake(ptr @pool.signal, i32 %others)
  br label %work
work:
  call void @pool.run(ptr %func, i32 0, ptr %closure)
  call void @pool.finish(i32 %count)
  br label %more
more:
  %again = call i1 @pool.take()
  br i1 %again, label %more, label %await
await:
  call void @pool.await(i32 %count)
  %failed = load i32, ptr @pool.failed, align 4
  %error = load ptr, ptr @pool.error, align 8
  store atomic i32 0, ptr @pool.busy release, align 4
  %has = icmp ne ptr %error, null
  br i1 %has, label %raise, label %end
raise:
  call void @TVMFFIErrorSetRaised(ptr %error)
  %drop = call i32 @TVMFFIObjectDecRef(ptr %error)
  br label %end
end:
  %bad = icmp ne i32 %failed, 0
  %res = sext i1 %bad to i32
  ret i32 %res
}}

; Run one task and keep the first error.
define internal void @pool.run(ptr %func, i32 %id, ptr %closure) nounwind {{
entry:
  %rc = call i32 %func(i32 %id, ptr @pool.env, ptr %closure)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %failed, label %end
failed:
  call void @pool.fail()
  br label %end
end:
  ret void
}}

; Let the region fail with the error that this thread has raised, if it is the first.
define internal void @pool.fail() nounwind {{
entry:
  %room = alloca ptr, align 8
  %mark = atomicrmw or ptr @pool.failed, i32 1 monotonic
  store ptr null, ptr %room, align 8
  call void @TVMFFIErrorMoveFromRaised(ptr %room)
  %error = load ptr, ptr %room, align 8
  %some = icmp ne ptr %error, null
  br i1 %some, label %keep, label %end
keep:
  %pair = cmpxchg ptr @pool.error, ptr null, ptr %error acq_rel monotonic
  %first = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %first, label %end, label %drop
drop:
  %gone = call i32 @TVMFFIObjectDecRef(ptr %error)
  br label %end
end:
  ret void
}}

; Count a task as done; wake the launcher if it sleeps and this was the last.
define internal void @pool.finish(i32 %count) nounwind {{
entry:
  %before = atomicrmw add ptr @pool.done, i32 1 seq_cst
  %now = add i32 %before, 1
  %last = icmp eq i32 %now, %count
  br i1 %last, label %check, label %end
check:
  %waiting = load atomic i32, ptr @pool.waiting seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %end
wake:
  call void @pool.wake(ptr @pool.done, i32 1)
  br label %end
end:
  ret void
}}

; Take one task if there is one, and run it.
define internal i1 @pool.take() nounwind {{
entry:
  %word = load atomic i64, ptr @pool.word acquire, align 8
  %next64 = and i64 %word, 65535
  %middle = lshr i64 %word, 16
  %count64 = and i64 %middle, 65535
  %left = icmp ult i64 %next64, %count64
  br i1 %left, label %try, label %none
try:
  %func = load atomic ptr, ptr @pool.func monotonic, align 8
  %closure = load atomic ptr, ptr @pool.closure monotonic, align 8
  %bigger = add i64 %word, 1
  %pair = cmpxchg ptr @pool.word, i64 %word, i64 %bigger acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %run, label %entry.again
entry.again:
  ret i1 true
run:
  %id = trunc i64 %next64 to i32
  %count = trunc i64 %count64 to i32
  call void @pool.run(ptr %func, i32 %id, ptr %closure)
  call void @pool.finish(i32 %count)
  ret i1 true
none:
  ret i1 false
}}

; Wait until all tasks are done: spin, then yield, then sleep.
define internal void @pool.await(i32 %count) nounwind {{
entry:
  %spins = load i64, ptr @pool.spins, align 8
  br label %spin
spin:
  %i = phi i64 [ 0, %entry ], [ %i.next, %spin.more ]
  %done = load atomic i32, ptr @pool.done acquire, align 4
  %all = icmp eq i32 %done, %count
  br i1 %all, label %end, label %spin.more
spin.more:
  {pause}
  %i.next = add i64 %i, 1
  %go = icmp ult i64 %i.next, %spins
  br i1 %go, label %spin, label %yield
yield:
  %j = phi i64 [ 0, %spin.more ], [ %j.next, %yield.more ]
  %done2 = load atomic i32, ptr @pool.done acquire, align 4
  %all2 = icmp eq i32 %done2, %count
  br i1 %all2, label %end, label %yield.more
yield.more:
  %y = call i32 @sched_yield()
  %j.next = add i64 %j, 1
  %go2 = icmp ult i64 %j.next, {yields}
  br i1 %go2, label %yield, label %sleep
sleep:
  store atomic i32 1, ptr @pool.waiting seq_cst, align 4
  %done3 = load atomic i32, ptr @pool.done seq_cst, align 4
  %all3 = icmp eq i32 %done3, %count
  br i1 %all3, label %awake, label %block
block:
  call void @pool.wait.brief(ptr @pool.done, i32 %done3)
  %rc = call i32 @tvm_rt_poll(ptr @pool.name)
  %told = icmp ne i32 %rc, 0
  br i1 %told, label %give.up, label %sleep
give.up:
  call void @pool.fail()
  br label %sleep
awake:
  store atomic i32 0, ptr @pool.waiting seq_cst, align 4
  br label %end
end:
  ret void
}}

; What a worker does: take tasks while there are some; spin, yield, sleep until the next launch.
define internal ptr @pool.worker(ptr %unused) nounwind {{
entry:
  call void @poll.join()
  %spins = load i64, ptr @pool.spins, align 8
  br label %look
look:
  %seen = load atomic i32, ptr @pool.signal acquire, align 4
  br label %take
take:
  %again = call i1 @pool.take()
  br i1 %again, label %take, label %spin
spin:
  %i = phi i64 [ 0, %take ], [ %i.next, %spin.more ]
  %now = load atomic i32, ptr @pool.signal acquire, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %look, label %spin.more
spin.more:
  {pause}
  %i.next = add i64 %i, 1
  %go = icmp ult i64 %i.next, %spins
  br i1 %go, label %spin, label %yield
yield:
  %j = phi i64 [ 0, %spin.more ], [ %j.next, %yield.more ]
  %now2 = load atomic i32, ptr @pool.signal acquire, align 4
  %new2 = icmp ne i32 %now2, %seen
  br i1 %new2, label %look, label %yield.more
yield.more:
  %y = call i32 @sched_yield()
  %j.next = add i64 %j, 1
  %go2 = icmp ult i64 %j.next, {yields}
  br i1 %go2, label %yield, label %sleep
sleep:
  %in = atomicrmw add ptr @pool.sleepers, i32 1 seq_cst
  %now3 = load atomic i32, ptr @pool.signal seq_cst, align 4
  %new3 = icmp ne i32 %now3, %seen
  br i1 %new3, label %awake, label %block
block:
  call void @pool.wait(ptr @pool.signal, i32 %seen)
  br label %awake
awake:
  %out = atomicrmw sub ptr @pool.sleepers, i32 1 seq_cst
  br label %look
}}
"""

_START = """
; Threads that there shall be: TVM_NUM_THREADS, OMP_NUM_THREADS, or the cores we may run on.
define internal i32 @pool.detect() nounwind {{
entry:
  %a = call i32 @pool.number(ptr @pool.env_name)
  %a.set = icmp sgt i32 %a, 0
  br i1 %a.set, label %end, label %omp
omp:
  %b = call i32 @pool.number(ptr @pool.omp_name)
  %b.set = icmp sgt i32 %b, 0
  br i1 %b.set, label %end, label %cores
cores:
{cores}
  %some = icmp sgt i32 %c, 0
  %c.1 = select i1 %some, i32 %c, i32 1
  br label %end
end:
  %n = phi i32 [ %a, %entry ], [ %b, %omp ], [ %c.1, %cores ]
  %many = icmp sgt i32 %n, 1024
  %res = select i1 %many, i32 1024, i32 %n
  ret i32 %res
}}

define internal i32 @pool.number(ptr %name) nounwind {{
entry:
  %text = call ptr @getenv(ptr %name)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %none, label %read
read:
  %n = call i32 @atoi(ptr %text)
  ret i32 %n
none:
  ret i32 0
}}

; Use `count` threads from now on; 0 asks the environment again at the next launch.
define {visibility}void @tvm_rt_set_num_threads(i32 %count) nounwind {{
  store atomic i32 %count, ptr @pool.limit seq_cst, align 4
  ret void
}}

define {visibility}i32 @tvm_rt_num_threads() nounwind {{
entry:
  %known = load atomic i32, ptr @pool.limit monotonic, align 4
  %set = icmp ne i32 %known, 0
  br i1 %set, label %end, label %detect
detect:
  %n = call i32 @pool.detect()
  br label %end
end:
  %res = phi i32 [ %known, %entry ], [ %n, %detect ]
  ret i32 %res
}}

; Bring the number of workers to count - 1. The caller holds the pool.
define internal void @pool.start(i32 %count) nounwind {{
entry:
  %thread = alloca i64, align 8
  %all = alloca [{sigset} x i8], align 8
  %mask = alloca [{sigset} x i8], align 8
  %hooked = load i32, ptr @pool.hooked, align 4
  %first = icmp eq i32 %hooked, 0
  br i1 %first, label %hook, label %measured
hook:
  store i32 1, ptr @pool.hooked, align 4
  {at_fork}
  br label %measured
measured:
  call void @pool.measure()
  ; workers take no signals: those belong to the program's own threads
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 {sigset}, i1 false)
  store i8 {faults}, ptr %all, align 1 ; but for faults of their own
  %all.1 = getelementptr inbounds i8, ptr %all, i64 1
  store i8 -5, ptr %all.1, align 1
  %m = call i32 @pthread_sigmask(i32 {set_mask}, ptr %all, ptr %mask)
  %have = load i32, ptr @pool.started, align 4
  %none = icmp slt i32 %have, 1
  %from = select i1 %none, i32 1, i32 %have
  br label %loop
loop:
  %i = phi i32 [ %from, %measured ], [ %i.next, %made ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %create, label %end
create:
  %rc = call i32 @pthread_create(ptr %thread, ptr null, ptr @pool.worker, ptr null)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %made, label %end
made:
  %handle = load i64, ptr %thread, align 8
  %d = call i32 @pthread_detach(i64 %handle)
  %i.next = add i32 %i, 1
  br label %loop
end:
  ; where the system gives no more threads, the present ones take the tasks of the missing
  store i32 %count, ptr @pool.started, align 4
  %r = call i32 @pthread_sigmask(i32 {set_mask}, ptr %mask, ptr null)
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; How many pauses fill the time that threads spin.
define internal void @pool.measure() nounwind {{
entry:
  %t0 = call i64 @pool.now()
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  {pause}
  %x = load atomic i32, ptr @pool.signal acquire, align 4
  %i.next = add i64 %i, 1
  %go = icmp ult i64 %i.next, 1000
  br i1 %go, label %loop, label %end
end:
  %t1 = call i64 @pool.now()
  %dt = sub i64 %t1, %t0
  %short = icmp slt i64 %dt, 100
  %dt.1 = select i1 %short, i64 100, i64 %dt
  %spins = sdiv i64 {spin_work}, %dt.1
  %spins.1 = add i64 %spins, 1
  store i64 %spins.1, ptr @pool.spins, align 8
  ret void
}}

define internal i64 @pool.now() nounwind {{
  %t = alloca {{ i64, i64 }}, align 8
  %rc = call i32 @clock_gettime(i32 {clock}, ptr %t)
  %s = load i64, ptr %t, align 8
  %p = getelementptr inbounds i8, ptr %t, i64 8
  %ns = load i64, ptr %p, align 8
  %a = mul i64 %s, 1000000000
  %b = add i64 %a, %ns
  ret i64 %b
}}

; In a new process only the calling thread lives on.
define internal void @pool.forked() nounwind {{
  store i64 0, ptr @pool.word, align 8
  store i32 0, ptr @pool.sleepers, align 4
  store i32 0, ptr @pool.busy, align 4
  store i32 0, ptr @pool.done, align 4
  store i32 0, ptr @pool.waiting, align 4
  store i32 0, ptr @pool.started, align 4
  %self = call i64 @pthread_self()
  store i64 %self, ptr @poll.main, align 8
{forked_lock}
  ret void
}}
"""

_FUTEX = """
declare i64 @syscall(i64, ...)
define internal void @pool.wait(ptr %address, i32 %value) nounwind {{
  ; FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  %r = call i64 (i64, ...) @syscall(
    i64 {call}, ptr %address, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}}
; The same, for a twentieth of a second at most.
define internal void @pool.wait.brief(ptr %address, i32 %value) nounwind {{
  %time = alloca {{ i64, i64 }}, align 8
  store {{ i64, i64 }} {{ i64 0, i64 50000000 }}, ptr %time, align 8
  %r = call i64 (i64, ...) @syscall(
    i64 {call}, ptr %address, i32 128, i32 %value, ptr %time, ptr null, i32 0)
  ret void
}}
define internal void @pool.wake(ptr %address, i32 %count) nounwind {{
  ; FUTEX_WAKE | FUTEX_PRIVATE_FLAG
  %r = call i64 (i64, ...) @syscall(
    i64 {call}, ptr %address, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}}
"""

# One mutex and one condition for both words; the sleepers look at their word again when woken.
# 64 zero bytes are a fresh mutex (and condition) on Linux; elsewhere pool.condition.init sets them.
_CONDITION = """
@pool.mutex = internal global [128 x i8] zeroinitializer, align 16
@pool.condition = internal global [128 x i8] zeroinitializer, align 16
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
define internal void @pool.wait(ptr %address, i32 %value) nounwind {{
entry:
  %l = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  br label %look
look:
  %now = load atomic i32, ptr %address seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %block, label %end
block:
  %w = call i32 @pthread_cond_wait(ptr @pool.condition, ptr @pool.mutex)
  br label %look
end:
  %u = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  ret void
}}
define internal void @pool.wait.brief(ptr %address, i32 %value) nounwind {{
  call void @pool.wait(ptr %address, i32 %value)
  ret void
}}
define internal void @pool.wake(ptr %address, i32 %count) nounwind {{
  %l = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @pool.condition)
  %u = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  ret void
}}
"""

_COND_INIT = """  %mi = call i32 @pthread_mutex_init(ptr @pool.mutex, ptr null)
  %ci = call i32 @pthread_cond_init(ptr @pool.condition, ptr null)"""

_AFFINITY = """  %set = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 128, i1 false)
  %rc = call i32 @sched_getaffinity(i32 0, i64 128, ptr %set)
  %bits = load i1024, ptr %set, align 8
  %pop = call i1024 @llvm.ctpop.i1024(i1024 %bits)
  %c = trunc i1024 %pop to i32"""

_SYSCONF = """  %c.64 = call i64 @sysconf(i32 {number})
  %c = trunc i64 %c.64 to i32"""

def pool_text(platform: PoolPlatform) -> str:
    """The functions of the pool: launch, thread count, and their helpers."""
    pause = platform.pause
    has_futex = platform.futex_call is not None
    cores = _AFFINITY if platform.has_affinity else _SYSCONF.format(
        number=platform.processors_onln
    )  # fmt: skip
    if platform.fork_hook == "__register_atfork":
        at_fork = "%f = call i32 @__register_atfork(ptr null, ptr null, ptr @pool.forked, ptr null)"
        declared = "declare i32 @__register_atfork(ptr, ptr, ptr, ptr)"
    else:
        at_fork = "%f = call i32 @pthread_atfork(ptr null, ptr null, ptr @pool.forked)"
        declared = "declare i32 @pthread_atfork(ptr, ptr, ptr)"
    if not has_futex:
        at_fork += "\n" + _COND_INIT
    names = {
        "pool.env_name": "TVM_NUM_THREADS",
        "pool.omp_name": "OMP_NUM_THREADS",
        "pool.name": "(the last tasks of a parallel loop)",
    }
    parts = [_STATE, declared, *(string_global(k, v) for k, v in names.items())]
    if "hint" in pause:
        parts.append("declare void @llvm.aarch64.hint(i32)")
    elif pause:
        parts.append("declare void @llvm.x86.sse2.pause()")
    if platform.has_affinity:
        parts.append("declare i32 @sched_getaffinity(i32, i64, ptr)")
        parts.append("declare i1024 @llvm.ctpop.i1024(i1024)")
    parts.append(
        f"@{TABLE} = global {{ ptr, ptr, ptr }} "
        "{ ptr null, ptr @TVMBackendParallelLaunch, ptr @tvm_rt_set_num_threads }, align 8"
    )
    parts.append(f"@{OWN_LAUNCH} = global ptr @pool.launch, align 8")
    parts.append(
        _LAUNCH.format(
            visibility=platform.visibility, table=TABLE, pause=pause, yields=YIELDS
        )
    )
    parts.append(
        _START.format(
            visibility=platform.visibility, cores=cores, pause=pause, at_fork=at_fork,
            faults=0x37 if platform.sigset_bytes > 4 else 0x77,  # SIGILL, SIGFPE, and SIGBUS there
            sigset=platform.sigset_bytes, set_mask=platform.set_mask, spin_work=SPIN_NS * 1000,
            clock=1 if platform.has_affinity or has_futex else 6,
            forked_lock="" if has_futex else _COND_INIT,
        )
    )  # fmt: skip
    parts.append(_FUTEX.format(call=platform.futex_call) if has_futex else _CONDITION.format())
    return "\n".join(parts)
