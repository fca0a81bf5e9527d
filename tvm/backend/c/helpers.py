"""Small C functions and types that generated code uses; a file gets those that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tvm.runtime.pool_sharing import PARALLEL_POINTER
from tvm.support.dtype import DataType

from .types import carried_bits, short_name, value_type


class Helper(NamedTuple):
    """C text, the helpers that it uses itself, and the headers that declare what it calls."""

    text: str
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


_HELPERS: dict[str, Helper] = {}


def _helper(
    name: str, text: str, needs: tuple[str, ...] = (), headers: tuple[str, ...] = ()
) -> None:
    _HELPERS[name] = Helper(text.strip(), needs, headers)


def helper(name: str) -> Helper | None:
    """The helper called `name`, of the table or of a family such as `min_i32`; or None."""
    return _HELPERS.get(name) or _of_family(name)


# --- structures: dlpack.h and tvm/ffi/c_api.h say where the fields are ---

_helper("DLTensor", """
typedef struct {
  void* data;
  struct { int32_t type; int32_t id; } device;
  int32_t ndim;
  struct { uint8_t code; uint8_t bits; uint16_t lanes; } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
""")
_helper("TVMFFIAny", """
typedef struct {
  int32_t type_index;
  int32_t zero_padding;
  union { int64_t v_int64; double v_float64; void* v_ptr; };
} TVMFFIAny;
""")
_helper("TVMValue", "typedef union { int64_t v_int64; double v_float64; void* v_ptr; } TVMValue;")

# --- bits and addresses ---

_helper("clz64", """
static inline int clz64(uint64_t x, int width) {
  return x == 0 ? width : __builtin_clzll(x) - (64 - width);
}
""")
_helper("is_null", "static inline bool is_null(const void* p) { return p == NULL; }",
        headers=("stddef.h",))

# --- what the tvm-ffi library offers ---

_helper("TVMFFIErrorSetRaisedFromCStr", """
extern void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
""")
_helper("raise_error", """
/* Set the error that the caller sees, with values in its words; -1. */
__attribute__((format(printf, 2, 3)))
static int32_t raise_error(const char* kind, const char* form, ...) {
  char text[1024];
  va_list values;
  va_start(values, form);
  vsnprintf(text, sizeof text, form, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}
""", ("TVMFFIErrorSetRaisedFromCStr",), ("stdarg.h", "stdio.h"))
_helper("__tvm_ffi__library_ctx", """
/* Set by whoever loads the library: the module that this code belongs to. */
__attribute__((weak)) void* __tvm_ffi__library_ctx = NULL;
""", headers=("stddef.h",))
_helper("find_function", """
extern int32_t TVMFFIEnvModLookupFromImports(void* module, const char* name, void** out);
extern int32_t TVMFFIFunctionGetGlobal(const void* name, void** out);
extern int32_t TVMFFIFunctionCall(void* func, TVMFFIAny* args, int32_t num_args,
                                  TVMFFIAny* result);
extern void TVMFFIErrorMoveFromRaised(void** out);
extern int32_t TVMFFIObjectDecRef(void* object);
/* A function among the imports of this library's module, else in the global registry.
 * An odd context is a function object that finds them, and keeps what it found. */
static int32_t find_function(const char* name, void** out) {
  struct { const char* data; size_t size; } bytes = {name, strlen(name)};
  uintptr_t finder = (uintptr_t)__tvm_ffi__library_ctx;
  void* error = NULL;
  *out = NULL;
  if (finder & 1) {
    TVMFFIAny asked, found;
    memset(&asked, 0, sizeof asked);
    memset(&found, 0, sizeof found);
    asked.type_index = 8;  /* a C string */
    asked.v_ptr = (void*)name;
    if (TVMFFIFunctionCall((void*)(finder - 1), &asked, 1, &found) != 0) return -1;
    *out = found.v_ptr;
    if (*out != NULL) return TVMFFIObjectDecRef(*out);
  }
  if (finder == 0 || finder & 1) {
    if (TVMFFIFunctionGetGlobal(&bytes, out) != 0) return -1;
  } else if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name, out) != 0) {
    TVMFFIErrorMoveFromRaised(&error);
    if (error != NULL) TVMFFIObjectDecRef(error);
    *out = NULL;
  }
  if (*out != NULL) return 0;
  return raise_error("RuntimeError",
      "compiled code calls function '%s', which is not in the global registry", name);
}
""", ("TVMFFIAny", "__tvm_ffi__library_ctx", "raise_error"), ("stdint.h", "string.h", "stdio.h"))
_helper("call_packed", """
/* Look a function up once, then call it. */
static int32_t call_packed(void** slot, const char* name, TVMFFIAny* args, int32_t num_args,
                           TVMFFIAny* result) {
  void* func = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (func == NULL) {
    if (find_function(name, &func) != 0) return -1;
    __atomic_store_n(slot, func, __ATOMIC_RELAXED);
  }
  memset(result, 0, sizeof *result);
  return TVMFFIFunctionCall(func, args, num_args, result);
}
""", ("find_function",), ("string.h",))

# --- scratch memory, the clock, new tensors and arrays ---

_helper("device_workspace", """
/* What a registered function gives for three numbers; 0, with an error set, where it fails. */
static int64_t device_workspace(const char* name, int32_t type, int32_t id, int64_t value) {
  void* func;
  if (find_function(name, &func) != 0) return 0;
  TVMFFIAny args[3], result;
  memset(args, 0, sizeof args);
  memset(&result, 0, sizeof result);
  args[0].type_index = args[1].type_index = args[2].type_index = 1;
  args[0].v_int64 = type;
  args[1].v_int64 = id;
  args[2].v_int64 = value;
  int32_t failed = TVMFFIFunctionCall(func, args, 3, &result);
  TVMFFIObjectDecRef(func);
  return failed ? 0 : result.v_int64;
}
""", ("find_function",), ("string.h",))
_helper("TVMBackendAllocWorkspace", """
/* Scratch memory on a cache line; NULL, with an error set, when there is none. */
static void* TVMBackendAllocWorkspace(int32_t device_type, int32_t device_id, int64_t bytes,
                                      int32_t type_code, int32_t type_bits) {
  (void)type_code;
  (void)type_bits;
  if (device_type != 1) {
    return (void*)(intptr_t)device_workspace(
        "runtime.take_device_workspace", device_type, device_id, bytes);
  }
  void* block = bytes >= 0 && bytes < INT64_MAX - 127
      ? aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64) : NULL;
  if (block == NULL) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory for a kernel's workspace");
  }
  return block;
}
""", ("TVMFFIErrorSetRaisedFromCStr", "device_workspace"), ("stdlib.h",))
_helper("TVMBackendFreeWorkspace", """
static int32_t TVMBackendFreeWorkspace(int32_t device_type, int32_t device_id, void* block) {
  if (device_type == 1) {
    free(block);
  } else {
    device_workspace("runtime.give_device_workspace", device_type, device_id,
                     (int64_t)(intptr_t)block);
  }
  return 0;
}
""", ("device_workspace",), ("stdlib.h",))
_helper("tvm_rt_clock_ns", """
static int64_t tvm_rt_clock_ns(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
""", headers=("time.h",))
_helper("tvm_rt_tensor_new", """
typedef struct DLManagedTensor {
  struct { uint32_t major; uint32_t minor; } version;
  void* context;
  void (*deleter)(struct DLManagedTensor* self);
  uint64_t flags;
  DLTensor tensor;
  int64_t extents[];
} DLManagedTensor;
extern int32_t TVMFFITensorFromDLPackVersioned(DLManagedTensor* from, int32_t min_alignment,
                                               int32_t contiguous, void** out);
static void delete_tensor(DLManagedTensor* self) { free(self); }
/* A new dense tensor on the CPU, in `result`, which is a TVMFFIAny. */
static int32_t tvm_rt_tensor_new(const void* shape, int32_t ndim, int32_t code, int32_t bits,
                                 int32_t lanes, const char* name, void* result) {
  size_t head = (sizeof(DLManagedTensor) + 2 * sizeof(int64_t) * (size_t)ndim + 63) / 64 * 64;
  int64_t bytes = (bits * lanes + 7) / 8, stride = 1;
  DLManagedTensor* self;
  void* handle = NULL;
  for (int32_t i = 0; i < ndim && bytes >= 0; ++i) {
    int64_t extent = ((const int64_t*)shape)[i];
    bytes = extent < 0 || (extent > 0 && bytes > (INT64_MAX >> 1) / extent) ? -1 : bytes * extent;
  }
  self = TVMBackendAllocWorkspace(1, 0, bytes < 0 ? -1 : bytes + (int64_t)head, code, bits);
  if (self == NULL) return raise_error("MemoryError", "out of memory for tensor %.120s", name);
  memset(self, 0, sizeof *self);
  self->version.major = 1;
  self->deleter = delete_tensor;
  self->tensor.data = (char*)self + head;
  self->tensor.device.type = 1;
  self->tensor.ndim = ndim;
  self->tensor.dtype.code = (uint8_t)code;
  self->tensor.dtype.bits = (uint8_t)bits;
  self->tensor.dtype.lanes = (uint16_t)lanes;
  self->tensor.shape = self->extents;
  self->tensor.strides = self->extents + ndim;
  for (int32_t i = ndim - 1; i >= 0; --i) {
    self->tensor.shape[i] = ((const int64_t*)shape)[i];
    self->tensor.strides[i] = stride;
    stride *= self->tensor.shape[i];
  }
  if (TVMFFITensorFromDLPackVersioned(self, 0, 0, &handle) != 0) {
    free(self);
    return -1;
  }
  ((TVMFFIAny*)result)->type_index = 70;
  ((TVMFFIAny*)result)->zero_padding = 0;
  ((TVMFFIAny*)result)->v_ptr = handle;
  return 0;
}
""", ("DLTensor", "TVMFFIAny", "TVMBackendAllocWorkspace", "raise_error"), ("string.h", "stdlib.h"))
_helper("tvm_rt_array_new", """
static void* tvm_rt_array_slot = NULL;
/* An array object of `count` values, which stay with the caller; `result` is a TVMFFIAny. */
static int32_t tvm_rt_array_new(void* items, int32_t count, void* result) {
  return call_packed(&tvm_rt_array_slot, "ffi.Array", (TVMFFIAny*)items, count, (TVMFFIAny*)result);
}
""", ("call_packed",))

# --- parallel loops ---

_helper("TVMParallelEnv", "typedef struct { void* sync; int32_t num_task; } TVMParallelEnv;")

_helper("parallel_launch", f"""
typedef int32_t (*TVMParallelTask)(int32_t task_id, void* env, void* closure);
/* Set by whoever loads the library to the launch function of a thread pool; NULL: run serially. */
__attribute__((weak))
int32_t (*{PARALLEL_POINTER})(TVMParallelTask task, void* closure, int32_t num_task) = NULL;
static int32_t parallel_launch(TVMParallelTask task, void* closure, int32_t num_task) {{
  TVMParallelEnv alone = {{NULL, 1}};
  if ({PARALLEL_POINTER} == NULL) return task(0, &alone, closure) != 0 ? -1 : 0;
  return {PARALLEL_POINTER}(task, closure, num_task);
}}
""", ("TVMParallelEnv",), ("stddef.h",))

# --- families: a function for each type, named like min_i32 ---

_FAMILY: Final = re.compile(
    r"(min|max|div|mod|floordiv|floormod|shl|atomic_add|wrap|sigmoid)_(bool|[iuf]\d+)"
)
_BITS_AS: Final = re.compile(r"bits_of_(\w+)_as_(\w+)")


def _dtype(short: str) -> DataType:
    if short == "bool":
        return DataType("bool")
    return DataType({"i": "int", "u": "uint", "f": "float"}[short[0]] + short[1:])


def _of_family(name: str) -> Helper | None:
    found = _FAMILY.fullmatch(name)
    if found is not None:
        dtype = _dtype(found[2])
        make = (_FLOAT_FORMS if dtype.is_float else _INT_FORMS).get(found[1])
        return None if make is None else make(dtype)
    pair = _BITS_AS.fullmatch(name)
    return None if pair is None else _bits_as(name, _c_type(pair[1]), _c_type(pair[2]))


def _c_type(short: str) -> str:
    """The C type of a short name, in which small floats go by their carriers."""
    return value_type(_dtype(short))


def _bits_as(name: str, source: str, target: str) -> Helper:
    text = (
        f"static inline {target} {name}({source} x) {{\n"
        f"  {target} y;\n  memcpy(&y, &x, sizeof y);\n  return y;\n}}"
    )
    return Helper(text, headers=("string.h",))


def _function(name: str, dtype: DataType, body: str, params: str = "ab") -> Helper:
    kind = value_type(dtype)
    given = ", ".join(f"{kind} {p}" for p in params)
    return Helper(
        f"static inline {kind} {name}_{short_name(dtype)}({given}) {{ {body} }}",
        headers=("math.h",) if dtype.is_float else (),
    )


def _suffix(dtype: DataType) -> str:
    return "f" if dtype.bits == 32 else ""


def _division(name: str, dtype: DataType, formula: str) -> Helper:
    """A division that no machine traps on; like numpy's, it gives zero where b is zero."""
    kind = value_type(dtype)
    special = "b == 0 ? 0"
    if dtype.is_int:  # the least number divided by -1 is itself
        special += " : b == -1 ? " + ("0" if "mod" in name else f"({kind})(0 - (u{kind})a)")
    return _function(name, dtype, f"return {special} : ({kind})({formula});")


_INT_FORMS: Final[dict[str, Callable[[DataType], Helper]]] = {
    "min": lambda t: _function("min", t, "return a < b ? a : b;"),
    "max": lambda t: _function("max", t, "return a > b ? a : b;"),
    "div": lambda t: _division("div", t, "a / b"),
    "mod": lambda t: _division("mod", t, "a % b"),
    # the remainder of % has the sign of a; that of floormod the sign of b
    "floordiv": lambda t: _division("floordiv", t, "a / b - ((a % b != 0) & ((a ^ b) < 0))"),
    "floormod": lambda t: _division(
        "floormod", t, "a % b + (((a % b != 0) & ((a ^ b) < 0)) ? b : 0)"
    ),
    "shl": lambda t: _function(
        "shl", t, f"return ({value_type(t)})((u{value_type(t)})a << b);".replace("uuint", "uint")
    ),
    "wrap": lambda t: _function(
        "wrap", t, f"return ({value_type(t)})((u{value_type(t)})a << {carried_bits(t) - t.bits})"
        f" >> {carried_bits(t) - t.bits};".replace("uuint", "uint"), "a"
    ),
    "atomic_add": lambda t: Helper(
        f"static inline {value_type(t)} atomic_add_{short_name(t)}"
        f"({value_type(t)}* address, {value_type(t)} value) {{\n"
        "  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);\n}"
    ),
}  # fmt: skip
_FLOAT_FORMS: Final[dict[str, Callable[[DataType], Helper]]] = {
    # not-a-number wins, as in numpy
    "min": lambda t: _function("min", t, "return a < b || a != a ? a : b;"),
    "max": lambda t: _function("max", t, "return a > b || a != a ? a : b;"),
    "floordiv": lambda t: _function("floordiv", t, f"return floor{_suffix(t)}(a / b);"),
    "floormod": lambda t: _function("floormod", t, f"return a - floor{_suffix(t)}(a / b) * b;"),
    "sigmoid": lambda t: _function(
        "sigmoid", t, f"return 1 / (1 + exp{_suffix(t)}(-x));", "x"
    ),
    "atomic_add": lambda t: Helper(
        f"static inline {value_type(t)} atomic_add_{short_name(t)}"
        f"({value_type(t)}* address, {value_type(t)} value) {{\n"
        f"  {value_type(t)} old, sum;\n"
        "  __atomic_load(address, &old, __ATOMIC_RELAXED);\n"
        "  do {\n    sum = old + value;\n"
        "  } while (!__atomic_compare_exchange(address, &old, &sum, 0, __ATOMIC_RELAXED,"
        " __ATOMIC_RELAXED));\n"
        "  return old;\n}"
    ),
}  # fmt: skip
