"""C functions that compiled code calls: scratch memory, new tensors, look-up by name, the pool.

They are LLVM text like everything else, compiled once: linked once into this process, where all
modules share them, and carried by each exported library, where they are hidden.
"""

from __future__ import annotations

import ctypes
import threading

from tvm.runtime import debug_memory, interruption
from tvm.runtime.pool_sharing import OWN_LAUNCH, TABLE, join_pools

from . import jit
from .guards import WATCHES, WORKSPACES, guarded_forms
from .interruption import interruption_text
from .pool import PoolPlatform, linux, pool_text, posix
from .types import string_global

SLOTS = 32  # blocks of scratch memory that are kept for reuse

_WORKSPACE = """
@ws.slots = internal global [{slots} x ptr] zeroinitializer, align 64
@ws.turn = internal global i64 0, align 8
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)

; Scratch memory of at least %bytes on a cache line; null when there is none.
define {visibility}noalias ptr @TVMBackendAllocWorkspace(
    i32 %type, i32 %id, i64 %bytes, i32 %code, i32 %bits) nounwind {{
entry:
  %room = alloca ptr, align 8
  %plus = add i64 %bytes, 127
  %need = and i64 %plus, -64
  %most.0 = shl i64 %need, 1
  %most = add i64 %most.0, 4096
  %below.zero = icmp slt i64 %bytes, 0
  %here = icmp eq i32 %type, 1
  br i1 %here, label %host, label %device
device:
  %far = call i64 @ws.device(ptr @ws.take, i32 %type, i32 %id, i64 %bytes)
  %there = inttoptr i64 %far to ptr
  ret ptr %there
host:
  br i1 %below.zero, label %none, label %loop
loop:
  %i = phi i64 [ 0, %host ], [ %i.next, %next ]
  %slot = getelementptr inbounds [{slots} x ptr], ptr @ws.slots, i64 0, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %next, label %grab
grab:
  %block = atomicrmw xchg ptr %slot, ptr null acquire
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %next, label %measure
measure:
  %have = load i64, ptr %block, align 8
  %large = icmp uge i64 %have, %need
  %small = icmp ule i64 %have, %most
  %fits = and i1 %large, %small
  br i1 %fits, label %found, label %back
found:
  %payload = getelementptr inbounds i8, ptr %block, i64 64
  ret ptr %payload
back:
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %kept = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %kept, label %next, label %drop
drop:
  call void @free(ptr %block)
  br label %next
next:
  %i.next = add i64 %i, 1
  %go = icmp ult i64 %i.next, {slots}
  br i1 %go, label %loop, label %fresh
fresh:
  %rc = call i32 @posix_memalign(ptr %room, i64 64, i64 %need)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %none, label %made
made:
  %new = load ptr, ptr %room, align 8
  store i64 %need, ptr %new, align 8
  %new.payload = getelementptr inbounds i8, ptr %new, i64 64
  ret ptr %new.payload
none:
  %words = alloca [128 x i8], align 16
  %form = select i1 %below.zero, ptr @ws.endless, ptr @ws.text
  %w = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %words, i64 128, ptr %form, i64 %bytes)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @ws.kind, ptr %words)
  ret ptr null
}}

; Give scratch memory back; it is kept for the next caller, and may evict another block.
define {visibility}i32 @TVMBackendFreeWorkspace(i32 %type, i32 %id, ptr %payload) nounwind {{
entry:
  %here = icmp eq i32 %type, 1
  br i1 %here, label %host, label %device
device:
  %there = ptrtoint ptr %payload to i64
  %done = call i64 @ws.device(ptr @ws.give, i32 %type, i32 %id, i64 %there)
  ret i32 0
host:
  %block = getelementptr inbounds i8, ptr %payload, i64 -64
  br label %loop
loop:
  %i = phi i64 [ 0, %host ], [ %i.next, %next ]
  %slot = getelementptr inbounds [{slots} x ptr], ptr @ws.slots, i64 0, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %put, label %next
put:
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %kept = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %kept, label %end, label %next
next:
  %i.next = add i64 %i, 1
  %go = icmp ult i64 %i.next, {slots}
  br i1 %go, label %loop, label %full
full:
  %turn = atomicrmw add ptr @ws.turn, i64 1 monotonic
  %out = urem i64 %turn, {slots}
  %evict = getelementptr inbounds [{slots} x ptr], ptr @ws.slots, i64 0, i64 %out
  %old = atomicrmw xchg ptr %evict, ptr %block acq_rel
  call void @free(ptr %old)
  br label %end
end:
  ret i32 0
}}

; What the function of this name gives for three numbers; 0 with an error set where it fails.
define internal i64 @ws.device(ptr %name, i32 %type, i32 %id, i64 %value) nounwind {{
entry:
  %found = alloca ptr, align 8
  %args = alloca [6 x i64], align 8
  %result = alloca [2 x i64], align 8
  %rc.0 = call i32 @tvm_rt_find_function(ptr null, ptr %name, ptr %found)
  %missing = icmp ne i32 %rc.0, 0
  br i1 %missing, label %none, label %call
call:
  %type.64 = sext i32 %type to i64
  %id.64 = sext i32 %id to i64
  store i64 1, ptr %args, align 8  ; integers, each behind its kind
  %arg.0 = getelementptr inbounds i64, ptr %args, i64 1
  store i64 %type.64, ptr %arg.0, align 8
  %kind.1 = getelementptr inbounds i64, ptr %args, i64 2
  store i64 1, ptr %kind.1, align 8
  %arg.1 = getelementptr inbounds i64, ptr %args, i64 3
  store i64 %id.64, ptr %arg.1, align 8
  %kind.2 = getelementptr inbounds i64, ptr %args, i64 4
  store i64 1, ptr %kind.2, align 8
  %arg.2 = getelementptr inbounds i64, ptr %args, i64 5
  store i64 %value, ptr %arg.2, align 8
  store i64 0, ptr %result, align 8
  %value.at = getelementptr inbounds i64, ptr %result, i64 1
  store i64 0, ptr %value.at, align 8
  %func = load ptr, ptr %found, align 8
  %rc.1 = call i32 @TVMFFIFunctionCall(ptr %func, ptr %args, i32 3, ptr %result)
  %left = call i32 @TVMFFIObjectDecRef(ptr %func)
  %failed = icmp ne i32 %rc.1, 0
  br i1 %failed, label %none, label %end
end:
  %answer = load i64, ptr %value.at, align 8
  ret i64 %answer
none:
  ret i64 0
}}
"""

# struct DLManagedTensorVersioned of dlpack.h: version 0, context 8, deleter 16, flags 24, tensor 32
_TENSOR = """
declare i32 @TVMFFITensorFromDLPackVersioned(ptr, i32, i32, ptr)
declare i32 @TVMFFIFunctionGetGlobal(ptr, ptr)
declare i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)
declare i32 @TVMFFIEnvModLookupFromImports(ptr, ptr, ptr)
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare i64 @strlen(ptr)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define internal void @tensor.delete(ptr %self) nounwind {{
  %r = call i32 @TVMBackendFreeWorkspace(i32 1, i32 0, ptr %self)
  ret void
}}

; A new tensor on the CPU, dense, on a cache line; %out is a TVMFFIAny. The name is for errors.
define {visibility}i32 @tvm_rt_tensor_new(
    ptr %shape, i32 %ndim, i32 %code, i32 %bits, i32 %lanes, ptr %name, ptr %out) nounwind {{
entry:
  %room = alloca ptr, align 8
  %words = alloca [512 x i8], align 16
  %n = sext i32 %ndim to i64
  %lane.bits = mul i32 %bits, %lanes
  %lane.up = add i32 %lane.bits, 7
  %lane.bytes = lshr i32 %lane.up, 3
  %size.0 = zext i32 %lane.bytes to i64
  %dims = mul i64 %n, 16
  %head.0 = add i64 %dims, 143
  %head = and i64 %head.0, -64
  %some = icmp sgt i32 %ndim, 0
  br i1 %some, label %size.loop, label %alloc
size.loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %size.loop ]
  %size = phi i64 [ %size.0, %entry ], [ %size.next, %size.loop ]
  %wrapped = phi i1 [ false, %entry ], [ %wrapped.next, %size.loop ]
  %below = phi i1 [ false, %entry ], [ %below.next, %size.loop ]
  %extent.at = getelementptr inbounds i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent.at, align 8
  ; an extent below zero counts as one above 2^63
  %product = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %size, i64 %extent)
  %size.next = extractvalue {{ i64, i1 }} %product, 0
  %over = extractvalue {{ i64, i1 }} %product, 1
  %negative = icmp slt i64 %extent, 0
  %below.next = or i1 %below, %negative
  %odd = or i1 %over, %negative
  %wrapped.next = or i1 %wrapped, %odd
  %i.next = add i64 %i, 1
  %go = icmp slt i64 %i.next, %n
  br i1 %go, label %size.loop, label %alloc
alloc:
  %bytes = phi i64 [ %size.0, %entry ], [ %size.next, %size.loop ]
  %lost = phi i1 [ false, %entry ], [ %wrapped.next, %size.loop ]
  %no.shape = phi i1 [ false, %entry ], [ %below.next, %size.loop ]
  %total = add i64 %bytes, %head
  %large = icmp ugt i64 %bytes, 4611686018427387904
  %endless = or i1 %lost, %large
  %asked = select i1 %endless, i64 -1, i64 %total
  %self = call ptr @TVMBackendAllocWorkspace(i32 1, i32 0, i64 %asked, i32 0, i32 0)
  %null = icmp eq ptr %self, null
  br i1 %null, label %refused, label %fill
refused:
  %kind = select i1 %no.shape, ptr @new.kind, ptr @ws.kind
  %text = select i1 %no.shape, ptr @new.below, ptr @new.text
  %length.0 = call i32 (ptr, i64, ptr, ...) @snprintf(
      ptr %words, i64 200, ptr %text, ptr %name)
  %start.0 = sext i32 %length.0 to i64
  br i1 %some, label %say.loop, label %said
say.loop:
  %k = phi i64 [ 0, %refused ], [ %k.next, %say.loop ]
  %start = phi i64 [ %start.0, %refused ], [ %start.next, %say.loop ]
  %start.near = call i64 @llvm.umin.i64(i64 %start, i64 450)
  %word = getelementptr inbounds i8, ptr %words, i64 %start.near
  %from.k = getelementptr inbounds i64, ptr %shape, i64 %k
  %extent.k = load i64, ptr %from.k, align 8
  %first = icmp eq i64 %k, 0
  %said.form = select i1 %first, ptr @new.first, ptr @new.more
  %put.length = call i32 (ptr, i64, ptr, ...) @snprintf(
      ptr %word, i64 60, ptr %said.form, i64 %extent.k)
  %put.long = sext i32 %put.length to i64
  %start.next = add i64 %start.near, %put.long
  %k.next = add i64 %k, 1
  %k.go = icmp slt i64 %k.next, %n
  br i1 %k.go, label %say.loop, label %said
said:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %words)
  br label %failed
fill:
  store i64 1, ptr %self, align 8
  %p.ctx = getelementptr inbounds i8, ptr %self, i64 8
  store ptr null, ptr %p.ctx, align 8
  %p.del = getelementptr inbounds i8, ptr %self, i64 16
  store ptr @tensor.delete, ptr %p.del, align 8
  %p.flags = getelementptr inbounds i8, ptr %self, i64 24
  store i64 0, ptr %p.flags, align 8
  %p.data = getelementptr inbounds i8, ptr %self, i64 32
  %data = getelementptr inbounds i8, ptr %self, i64 %head
  store ptr %data, ptr %p.data, align 8
  %p.dev = getelementptr inbounds i8, ptr %self, i64 40
  store i64 1, ptr %p.dev, align 8
  %p.ndim = getelementptr inbounds i8, ptr %self, i64 48
  store i32 %ndim, ptr %p.ndim, align 4
  %p.code = getelementptr inbounds i8, ptr %self, i64 52
  %code8 = trunc i32 %code to i8
  store i8 %code8, ptr %p.code, align 1
  %p.bits = getelementptr inbounds i8, ptr %self, i64 53
  %bits8 = trunc i32 %bits to i8
  store i8 %bits8, ptr %p.bits, align 1
  %p.lanes = getelementptr inbounds i8, ptr %self, i64 54
  %lanes16 = trunc i32 %lanes to i16
  store i16 %lanes16, ptr %p.lanes, align 2
  %dims.at = getelementptr inbounds i8, ptr %self, i64 80
  %p.shape = getelementptr inbounds i8, ptr %self, i64 56
  store ptr %dims.at, ptr %p.shape, align 8
  %half = mul i64 %n, 8
  %strides.at = getelementptr inbounds i8, ptr %dims.at, i64 %half
  %p.strides = getelementptr inbounds i8, ptr %self, i64 64
  store ptr %strides.at, ptr %p.strides, align 8
  %p.offset = getelementptr inbounds i8, ptr %self, i64 72
  store i64 0, ptr %p.offset, align 8
  br i1 %some, label %dim.loop, label %wrap
dim.loop:
  %left = phi i64 [ %n, %fill ], [ %d, %dim.loop ]
  %stride = phi i64 [ 1, %fill ], [ %stride.next, %dim.loop ]
  %d = sub i64 %left, 1
  %from = getelementptr inbounds i64, ptr %shape, i64 %d
  %length = load i64, ptr %from, align 8
  %to = getelementptr inbounds i64, ptr %dims.at, i64 %d
  store i64 %length, ptr %to, align 8
  %to.stride = getelementptr inbounds i64, ptr %strides.at, i64 %d
  store i64 %stride, ptr %to.stride, align 8
  %stride.next = mul i64 %stride, %length
  %dim.go = icmp sgt i64 %d, 0
  br i1 %dim.go, label %dim.loop, label %wrap
wrap:
  %rc = call i32 @TVMFFITensorFromDLPackVersioned(ptr %self, i32 0, i32 0, ptr %room)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %undo, label %done
undo:
  call void @tensor.delete(ptr %self)
  br label %failed
done:
  %handle = load ptr, ptr %room, align 8
  store i64 70, ptr %out, align 8
  %p.value = getelementptr inbounds i8, ptr %out, i64 8
  store ptr %handle, ptr %p.value, align 8
  ret i32 0
failed:
  ret i32 -1
}}

; Find a function among the imports of a library's module, else in the global registry.
; An odd context is a function object that finds them (tvm/runtime/imports.py).
define {visibility}i32 @tvm_rt_find_function(ptr %context, ptr %name, ptr %out) nounwind {{
entry:
  %bytes = alloca {{ ptr, i64 }}, align 8
  %words = alloca [512 x i8], align 16
  %asked = alloca {{ i64, ptr }}, align 8
  %given = alloca {{ i64, ptr }}, align 8
  %none = icmp eq ptr %context, null
  br i1 %none, label %registry, label %kind
kind:
  %address = ptrtoint ptr %context to i64
  %odd = trunc i64 %address to i1
  br i1 %odd, label %ask, label %imports
ask:
  %finder.address = and i64 %address, -2
  %finder = inttoptr i64 %finder.address to ptr
  store i64 8, ptr %asked, align 8  ; a C string
  %p.name = getelementptr inbounds i8, ptr %asked, i64 8
  store ptr %name, ptr %p.name, align 8
  store i64 0, ptr %given, align 8
  %p.func = getelementptr inbounds i8, ptr %given, i64 8
  store i64 0, ptr %p.func, align 8
  %rc0 = call i32 @TVMFFIFunctionCall(ptr %finder, ptr %asked, i32 1, ptr %given)
  %wrong = icmp ne i32 %rc0, 0
  br i1 %wrong, label %failed, label %answer
answer:
  %func = load ptr, ptr %p.func, align 8
  %unknown = icmp eq ptr %func, null
  br i1 %unknown, label %registry, label %take
take:
  store ptr %func, ptr %out, align 8
  %left = call i32 @TVMFFIObjectDecRef(ptr %func)  ; the finder keeps it
  ret i32 0
imports:
  %rc1 = call i32 @TVMFFIEnvModLookupFromImports(ptr %context, ptr %name, ptr %out)
  ret i32 %rc1
registry:
  %length = call i64 @strlen(ptr %name)
  store ptr %name, ptr %bytes, align 8
  %p = getelementptr inbounds i8, ptr %bytes, i64 8
  store i64 %length, ptr %p, align 8
  %rc2 = call i32 @TVMFFIFunctionGetGlobal(ptr %bytes, ptr %out)
  %bad = icmp ne i32 %rc2, 0
  br i1 %bad, label %failed, label %look
look:
  %found = load ptr, ptr %out, align 8
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %absent, label %end
absent:
  %w = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %words, i64 512, ptr @find.text, ptr %name)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @find.kind, ptr %words)
  ret i32 -1
failed:
  ret i32 -1
end:
  ret i32 0
}}

@array.slot = internal global ptr null, align 8

; An array object of %count values (which stay with the caller); %out is a TVMFFIAny.
define {visibility}i32 @tvm_rt_array_new(ptr %items, i32 %count, ptr %out) nounwind {{
entry:
  %room = alloca ptr, align 8
  %known = load atomic ptr, ptr @array.slot monotonic, align 8
  %unset = icmp eq ptr %known, null
  br i1 %unset, label %find, label %call
find:
  %rc = call i32 @tvm_rt_find_function(ptr null, ptr @array.name, ptr %room)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %failed, label %keep
keep:
  %found = load ptr, ptr %room, align 8
  store atomic ptr %found, ptr @array.slot monotonic, align 8
  br label %call
call:
  %func = phi ptr [ %known, %entry ], [ %found, %keep ]
  store i64 0, ptr %out, align 8
  %p = getelementptr inbounds i8, ptr %out, i64 8
  store i64 0, ptr %p, align 8
  %rc2 = call i32 @TVMFFIFunctionCall(ptr %func, ptr %items, i32 %count, ptr %out)
  ret i32 %rc2
failed:
  ret i32 -1
}}
"""

_CLOCK = """
define {visibility}i64 @tvm_rt_clock_ns() nounwind {{
  %t = call i64 @pool.now()
  ret i64 %t
}}
"""

_STRINGS = {
    "ws.take": "runtime.take_device_workspace",
    "ws.give": "runtime.give_device_workspace",
    "ws.kind": "MemoryError",
    "ws.text": "out of memory for a kernel's workspace\n  found: no room for %lld bytes",
    "ws.endless": "out of memory for a kernel's workspace\n"
    "  found: a size that 64 bits do not hold",
    "new.text": "out of memory for tensor %.120s\n  found: no room for ",
    "new.kind": "ShapeError",
    "new.below": "memory for tensor %.120s\n  legal: extents from 0 on\n  found: ",
    "new.first": "%lld",
    "new.more": " x %lld",
    "find.kind": "RuntimeError",
    "find.text": "compiled code calls function '%s', which is not in the global registry",
    "array.name": "ffi.Array",
}

PUBLIC = (
    "TVMBackendParallelLaunch",
    "TVMBackendAllocWorkspace",
    "TVMBackendFreeWorkspace",
    "tvm_rt_tensor_new",
    "tvm_rt_array_new",
    "tvm_rt_find_function",
    "tvm_rt_clock_ns",
    "tvm_rt_poll",
    "tvm_rt_num_threads",
    "tvm_rt_set_num_threads",
)


def host_text(pool: PoolPlatform, *, guarded: bool = False) -> str:
    """All host functions as one module; `guarded` memory comes from outside."""
    strings = [string_global(name, text) for name, text in _STRINGS.items()]
    forms = (*guarded_forms(_TENSOR), _CLOCK) if guarded else (_WORKSPACE, _TENSOR, _CLOCK)
    own = [form.format(slots=SLOTS, visibility=pool.visibility) for form in forms]
    return "\n".join([pool_text(pool), interruption_text(pool.visibility), *strings, *own])


def pool_platform(triple: str, *, exported: bool) -> PoolPlatform:
    """The pool's form for a system."""
    arch = triple.partition("-")[0]
    if "linux" in triple:
        in_process = not exported and hasattr(ctypes.CDLL(None), "__register_atfork")
        return linux(arch, exported=exported, glibc_in_process=in_process)
    return posix(arch, exported=exported, darwin="darwin" in triple or "macos" in triple)


def exported_object(machine: jit.Machine) -> bytes:
    """The host functions as an object file for an exported library."""
    return jit.emit_object(host_text(pool_platform(machine.triple, exported=True)), machine)


_lock = threading.Lock()
_linked: jit.Linked | None = None


def host_functions() -> dict[str, int]:
    """The addresses of the host functions in this process, linked at first need."""
    global _linked
    with _lock:
        if _linked is None:
            _linked = _link()
    guarded = _guarded_functions()
    return {name: guarded.get(name) or _linked.address(name) for name in PUBLIC} | guarded


def _guarded_functions() -> dict[str, int]:
    """The functions of guarded memory, where somebody looks for stores outside of buffers."""
    if not debug_memory.enabled():
        return {}
    memory = debug_memory.guarded_memory()
    functions = (memory.allocate, memory.free, memory.name, memory.check)
    addresses = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
    return dict(zip((*WORKSPACES, *WATCHES), addresses))


def _link() -> jit.Linked:
    machine = jit.host_machine()
    guarded = _guarded_functions()
    text = host_text(pool_platform(machine.triple, exported=False), guarded=bool(guarded))
    imports = {name: jit.process_symbol(name) for name in jit.external_names(text)} | guarded
    present = {name: address for name, address in imports.items() if address is not None}
    own = [name for name in PUBLIC if name not in guarded]
    exports = [*own, TABLE, OWN_LAUNCH, interruption.TABLE]
    linked = jit.link(jit.emit_object(text, machine), exports, present)
    linked.keep_forever()  # workers stay inside this code until the process ends
    join_pools(linked.address(TABLE), linked.address(OWN_LAUNCH))
    interruption.join_polls(linked.address(interruption.TABLE))
    return linked
