"""How running code hears that it shall stop, as LLVM text.

Code that may run long counts its work down and now and then calls `tvm_rt_poll`, which fails when
the thread's call is to stop: for a signal of Python's that raises (Ctrl-C), for a time limit, or
because another thread cancelled it. A thread with a limit keeps the address of a record:

    { i64 began, i64 deadline or 0, i32 cancelled }     times in ns of the monotonic clock

Threads of the pool follow the record of the thread whose region they work in, and stop when one of
its tasks has failed. Signals belong to the main thread, which alone asks Python for them.
"""

from __future__ import annotations

from typing import Final

from tvm.runtime.interruption import TABLE

from .types import string_global

SIGNALS_NS: Final = 20_000_000  # so often is Python asked
_WORKER: Final = "inttoptr (i64 1 to ptr)"  # what pool threads have instead of a record

_STRINGS: Final = {
    "poll.env.kind": "EnvErrorAlreadySet",
    "poll.env.text": "a signal was heard",
    "poll.cancel.kind": "CallCancelled",
    "poll.cancel.text": "the call was cancelled\n  where: kernel %.200s, after %lld ms",
    "poll.time.kind": "CallTimeout",
    "poll.time.text": "a call of at most %lld ms\n  found: kernel %.200s runs after %lld ms\n"
    "  legal: a longer timeout, or less work in the call",
}

_TEXT = """
@poll.on = internal global i32 0, align 8
@poll.key = internal global i32 0, align 8
@poll.main = internal global i64 0, align 8
@poll.last = internal global i64 0, align 8
@pool.control = internal global ptr null, align 8
@{table} = global {{ ptr, ptr, ptr, ptr, ptr }} {{ ptr null, ptr @tvm_rt_poll, ptr @poll.start,
  ptr @poll.limit, ptr @poll.park }}, align 8
declare i32 @pause()
declare ptr @signal(i32, ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i64 @pthread_self()
declare i32 @TVMFFIEnvCheckSignals()

; Begin to listen; `main` is the thread that signals belong to.
define internal i32 @poll.start(i64 %main) nounwind {{
entry:
  %rc = call i32 @pthread_key_create(ptr @poll.key, ptr null)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %end, label %good
good:
  store i64 %main, ptr @poll.main, align 8
  store atomic i32 1, ptr @poll.on seq_cst, align 4
  br label %end
end:
  ret i32 %rc
}}

; The record of the calling thread from now on, or null; gives the one before.
define internal ptr @poll.limit(ptr %record) nounwind {{
entry:
  %before = call ptr @poll.mine()
  %key = load i32, ptr @poll.key, align 4
  %rc = call i32 @pthread_setspecific(i32 %key, ptr %record)
  ret ptr %before
}}

define internal ptr @poll.mine() nounwind {{
entry:
  %on = load atomic i32, ptr @poll.on acquire, align 4
  %off = icmp eq i32 %on, 0
  br i1 %off, label %none, label %look
none:
  ret ptr null
look:
  %key = load i32, ptr @poll.key, align 4
  %mine = call ptr @pthread_getspecific(i32 %key)
  ret ptr %mine
}}

; Where a thread stays that cannot go back to a Python that has ended; the process is about to.
; A handler of SIGABRT: in the main thread the signal does what it does by itself.
define internal void @poll.park(i32 %number) nounwind {{
entry:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @poll.main, align 8
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %leave, label %park
leave:
  %before = call ptr @signal(i32 6, ptr null)
  ret void
park:
  %r = call i32 @pause()
  br label %park
}}

; Mark the calling thread as one of the pool.
define internal void @poll.join() nounwind {{
entry:
  %on = load atomic i32, ptr @poll.on acquire, align 4
  %off = icmp eq i32 %on, 0
  br i1 %off, label %end, label %mark
mark:
  %key = load i32, ptr @poll.key, align 4
  %rc = call i32 @pthread_setspecific(i32 %key, ptr {worker})
  br label %end
end:
  ret void
}}

; Let the pool's threads follow the record of the launching one.
define internal void @poll.lead() nounwind {{
  %mine = call ptr @poll.mine()
  store atomic ptr %mine, ptr @pool.control monotonic, align 8
  ret void
}}

; 0: go on; -1: stop, an error is set (or another task has set one).
define {visibility}i32 @tvm_rt_poll(ptr %name) nounwind noinline cold {{
entry:
  %words = alloca [512 x i8], align 16
  %hook = load atomic ptr, ptr @{table} monotonic, align 8
  %given = icmp ne ptr %hook, null
  br i1 %given, label %shared, label %own
shared:
  %r = call i32 %hook(ptr %name)
  ret i32 %r
own:
  %on = load atomic i32, ptr @poll.on acquire, align 4
  %off = icmp eq i32 %on, 0
  br i1 %off, label %end, label %who
who:
  %now = call i64 @pool.now()
  %mine = call ptr @poll.mine()
  %worker = icmp eq ptr %mine, {worker}
  br i1 %worker, label %region, label %thread
region:
  %failed = load atomic i32, ptr @pool.failed monotonic, align 4
  %lost = icmp ne i32 %failed, 0
  %lent = load atomic ptr, ptr @pool.control monotonic, align 8
  br i1 %lost, label %stop, label %look
thread:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @poll.main, align 8
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %due, label %look
due:
  %last = load i64, ptr @poll.last, align 8
  %since = sub i64 %now, %last
  %early = icmp ult i64 %since, {signals}
  br i1 %early, label %look, label %signals
signals:
  store i64 %now, ptr @poll.last, align 8
  %rc = call i32 @TVMFFIEnvCheckSignals()
  %heard = icmp ne i32 %rc, 0
  br i1 %heard, label %signal, label %look
signal:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @poll.env.kind, ptr @poll.env.text)
  ret i32 -1
look:
  %record = phi ptr [ %lent, %region ], [ %mine, %thread ], [ %mine, %due ], [ %mine, %signals ]
  %free = icmp eq ptr %record, null
  br i1 %free, label %end, label %limited
limited:
  %began = load i64, ptr %record, align 8
  %p.deadline = getelementptr inbounds i8, ptr %record, i64 8
  %deadline = load i64, ptr %p.deadline, align 8
  %p.cancelled = getelementptr inbounds i8, ptr %record, i64 16
  %cancelled = load atomic i32, ptr %p.cancelled monotonic, align 4
  %elapsed.ns = sub i64 %now, %began
  %elapsed = sdiv i64 %elapsed.ns, 1000000
  %over = icmp ne i32 %cancelled, 0
  br i1 %over, label %cancel, label %time
cancel:
  %w1 = call i32 (ptr, i64, ptr, ...) @snprintf(
    ptr %words, i64 512, ptr @poll.cancel.text, ptr %name, i64 %elapsed)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @poll.cancel.kind, ptr %words)
  ret i32 -1
time:
  %none = icmp eq i64 %deadline, 0
  %left = sub i64 %deadline, %now
  %late = icmp slt i64 %left, 0
  %no = xor i1 %none, true
  %ended = and i1 %late, %no
  br i1 %ended, label %timeout, label %end
timeout:
  %limit.ns = sub i64 %deadline, %began
  %limit = sdiv i64 %limit.ns, 1000000
  %w2 = call i32 (ptr, i64, ptr, ...) @snprintf(
    ptr %words, i64 512, ptr @poll.time.text, i64 %limit, ptr %name, i64 %elapsed)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @poll.time.kind, ptr %words)
  ret i32 -1
stop:
  ret i32 -1
end:
  ret i32 0
}}
"""


def interruption_text(visibility: str) -> str:
    """The functions that polls call; they use the pool's clock."""
    strings = [string_global(name, text) for name, text in _STRINGS.items()]
    text = _TEXT.format(table=TABLE, visibility=visibility, worker=_WORKER, signals=SIGNALS_NS)
    return "\n".join([*strings, text])
