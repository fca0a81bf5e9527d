// What CUDA, HIP, OpenCL C and Metal have and C++ lacks, on one thread of a CPU: the threads of a
// block are fibers that run in turn until they end or wait at a barrier.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
#if SHIM_CUDA
typedef unsigned long long ulonglong;
typedef long long longlong;
#else
#define ulong uint64_t
#endif

// --- fibers ---

struct Place { uint x, y, z; };

enum Wait { RUNS, AT_BLOCK, AT_WARP, ENDED };
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Wait wait;
  uint64_t mask;  // of the warp's lanes, those that have to come
  Place thread;
};
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static int current;
static Place blockIdx, threadIdx, blockDim;
static void (*run_kernel)();
static int WARP = 32;
static uint64_t offered[1024];

static void begin() { run_kernel(); fibers[current].wait = ENDED; }
static void wait_for(Wait what, uint64_t mask = ~uint64_t(0)) {
  fibers[current].wait = what;
  fibers[current].mask = mask;
  swapcontext(&fibers[current].context, &scheduler);
}
static bool release(int from, int to, Wait what) {
  bool some = false;
  for (int i = from; i < to; ++i) {
    if (fibers[i].wait == ENDED) continue;
    if (fibers[i].wait != what) return false;
    some = true;
  }
  if (some) for (int i = from; i < to; ++i) if (fibers[i].wait == what) fibers[i].wait = RUNS;
  return some;
}
// Threads of a warp go on where all whom they name have come.
static bool release_warp(int from, int to) {
  std::vector<int> met;
  for (int i = from; i < to; ++i) {
    bool all = fibers[i].wait == AT_WARP;
    for (int j = from; j < to && all; ++j)
      all = !(fibers[i].mask >> (j - from) & 1) || fibers[j].wait == AT_WARP || fibers[j].wait == ENDED;
    if (all) met.push_back(i);
  }
  for (int i : met) fibers[i].wait = RUNS;
  return !met.empty();
}
static int run_block() {
  int count = (int)fibers.size();
  for (int i = 0; i < count; ++i) {
    Fiber& f = fibers[i];
    f.wait = RUNS;
    f.thread = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    f.stack.resize(1 << 16);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = &scheduler;
    makecontext(&f.context, begin, 0);
  }
  for (;;) {
    bool ended = true;
    for (current = 0; current < count; ++current) {
      if (fibers[current].wait != RUNS) continue;
      threadIdx = fibers[current].thread;
      swapcontext(&scheduler, &fibers[current].context);
    }
    for (int i = 0; i < count; ++i) ended = ended && fibers[i].wait == ENDED;
    if (ended) return 0;
    bool moved = release(0, count, AT_BLOCK);
    for (int w = 0; w < count; w += WARP) moved = release_warp(w, std::min(w + WARP, count)) || moved;
#if SHIM_HIP  // threads of a wave that took another branch are not waited for
    for (int i = 0; i < count && !moved; ++i) moved = release(i, i + 1, AT_WARP) || moved;
    for (int i = 0; i < count; ++i) if (fibers[i].wait == AT_WARP) fibers[i].wait = RUNS;
#endif
    if (!moved) return 1;  // threads wait for each other at different places
  }
}
// threadIdx belongs to whoever runs
static void block_barrier() { wait_for(AT_BLOCK); }
static void warp_barrier(uint64_t mask = ~uint64_t(0)) { wait_for(AT_WARP, mask); }
static uint ballot(uint mask, bool holds) {
  int me = current, first = me / WARP * WARP;
  offered[me] = holds;
  warp_barrier(mask);
  uint found = 0;
  for (int i = 0; i < WARP && first + i < (int)fibers.size(); ++i)
    if ((mask >> i & 1) && fibers[first + i].wait != ENDED && offered[first + i]) found |= 1u << i;
  warp_barrier(mask);
  return found;
}
template <typename T> static T shuffled(T value, int lane) {
  int me = current, first = me / WARP * WARP;
  memcpy(&offered[me], &value, sizeof value);
  warp_barrier();
  T found = value;
  if (lane >= 0 && lane < WARP && first + lane < (int)fibers.size()) {
    memcpy(&found, &offered[first + lane], sizeof found);
  }
  warp_barrier();
  return found;
}
template <typename T> static T shuffled_by(T value, int lane, int width) {
  int mine = current % WARP, group = mine / width * width;
  return shuffled(value, lane < group || lane >= group + width ? mine : lane);
}

// --- small floats ---

static float half_to_float(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  float x = e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(e ? m + 1024 : m), (e ? e : 1) - 25);
  return h >> 15 ? -x : x;
}
static uint16_t float_to_half(float x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  if (isnan(x)) return sign | 0x7e00;
  if (x == 0) return sign;  // frexpf gives it the exponent of one half
  x = fabsf(x);
  if (x >= 65520.0f) return sign | 0x7c00;
  int e;
  frexpf(x, &e);
  e = std::max(e, -13);
  int m = (int)nearbyintf(ldexpf(x, 11 - e));
  return sign | (uint16_t)(m + ((e + 13) << 10));
}
#define SMALL_FLOAT(NAME, TO, FROM)                                             \
  struct NAME {                                                                 \
    uint16_t bits;                                                              \
    NAME() = default;                                                           \
    template <typename T> NAME(T x) : bits(FROM((float)x)) {}                   \
    operator float() const { return TO(bits); }                                 \
  };                                                                            \
  static NAME operator+(NAME a, NAME b) { return NAME((float)a + (float)b); }   \
  static NAME operator-(NAME a, NAME b) { return NAME((float)a - (float)b); }   \
  static NAME operator*(NAME a, NAME b) { return NAME((float)a * (float)b); }   \
  static NAME operator/(NAME a, NAME b) { return NAME((float)a / (float)b); }
SMALL_FLOAT(half, half_to_float, float_to_half)
static float bfloat_to_float(uint16_t b) {
  uint32_t bits = (uint32_t)b << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static uint16_t float_to_bfloat(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return isnan(x) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
SMALL_FLOAT(__nv_bfloat16, bfloat_to_float, float_to_bfloat)

// --- vectors ---

#define CONVERT(T) template <typename A> static T as_##T(A a)                       \
  { static_assert(sizeof(T) == sizeof(A), "size"); T r; memcpy((void*)&r, &a, sizeof r); return r; }
#define LANE(V, T, SIGN, N) static V operator SIGN(V a, V b) {                       \
    T *x = (T*)&a, *y = (T*)&b;                                                     \
    for (int i = 0; i < N; ++i) x[i] = x[i] SIGN y[i];                              \
    return a;                                                                       \
  }
#define MEMORY(V, T, N)                                                             \
  static V vload##N(size_t i, const T* p) { V r; memcpy((void*)&r, p + N * i, sizeof r); return r; } \
  static void vstore##N(V v, size_t i, T* p) { memcpy((void*)(p + N * i), &v, sizeof v); }
#define OPERATORS(V, T, N) LANE(V, T, +, N) LANE(V, T, -, N) LANE(V, T, *, N) LANE(V, T, /, N) \
  CONVERT(V) MEMORY(V, T, N)
#define VECTOR2(V, T, A, B)                                                         \
  struct alignas(sizeof(T) * 2) V {                                                 \
    T A, B;                                                                         \
    V() = default;                                                                  \
    V(T a) : A(a), B(a) {}                                                          \
    V(T a, T b) : A(a), B(b) {}                                                     \
  };                                                                                \
  static V make_##V(T a, T b) { return V(a, b); }                                   \
  OPERATORS(V, T, 2)
#define VECTOR4(V, T, A, B, C, D)                                                   \
  struct alignas(sizeof(T) * 4) V {                                                 \
    T A, B, C, D;                                                                   \
    V() = default;                                                                  \
    V(T a) : A(a), B(a), C(a), D(a) {}                                              \
    V(T a, T b, T c, T d) : A(a), B(b), C(c), D(d) {}                               \
  };                                                                                \
  static V make_##V(T a, T b, T c, T d) { return V(a, b, c, d); }                   \
  OPERATORS(V, T, 4)
#define VECTOR3(V, T, A, B, C)  /* three elements in memory, aligned as one */     \
  struct V {                                                                        \
    T A, B, C;                                                                      \
    V() = default;                                                                  \
    V(T a) : A(a), B(a), C(a) {}                                                    \
    V(T a, T b, T c) : A(a), B(b), C(c) {}                                          \
  };                                                                                \
  static V make_##V(T a, T b, T c) { return V(a, b, c); }                           \
  OPERATORS(V, T, 3)
#define VECTOR8(V, T)                                                               \
  struct alignas(sizeof(T) * 8) V {                                                 \
    T s0, s1, s2, s3, s4, s5, s6, s7;                                               \
    V() = default;                                                                  \
    V(T a) : V(a, a, a, a, a, a, a, a) {}                                           \
    V(T a, T b, T c, T d, T e, T f, T g, T h)                                       \
      : s0(a), s1(b), s2(c), s3(d), s4(e), s5(f), s6(g), s7(h) {}                   \
  };                                                                                \
  OPERATORS(V, T, 8)
#if SHIM_OPENCL
#define VECTORS(B, T) VECTOR2(B##2, T, s0, s1) VECTOR3(B##3, T, s0, s1, s2)         \
  VECTOR4(B##4, T, s0, s1, s2, s3) VECTOR8(B##8, T)
VECTORS(long, int64_t)
VECTORS(ulong, uint64_t)
#elif SHIM_CUDA
#define VECTORS(B, T) VECTOR2(B##2, T, x, y) VECTOR3(B##3, T, x, y, z) VECTOR4(B##4, T, x, y, z, w)
VECTORS(longlong, int64_t)
VECTORS(ulonglong, uint64_t)
#else
using uint3 = Place;  // as Metal gives it to kernels
#define VECTORS(B, T) VECTOR2(B##2, T, x, y) VECTOR4(B##4, T, x, y, z, w)
VECTORS(long, int64_t)
VECTORS(ulong, uint64_t)
#endif
VECTORS(float, float)
VECTORS(double, double)
VECTORS(int, int32_t)
VECTORS(uint, uint)
#if SHIM_CUDA
VECTORS(char, signed char)
#else
VECTORS(char, char)
#endif
VECTORS(uchar, uchar)
VECTORS(short, short)
VECTORS(ushort, ushort)
VECTORS(half, half)
CONVERT(int) CONVERT(uint) CONVERT(float)
template <typename T, typename A> static T as_type(A a)
  { static_assert(sizeof(T) == sizeof(A), "size"); T r; memcpy((void*)&r, &a, sizeof r); return r; }

// --- what all of them call ---

#define NUMBERS(T)                                   \
  static T min(T a, T b) { return a < b ? a : b; }   \
  static T max(T a, T b) { return a > b ? a : b; }
NUMBERS(int) NUMBERS(uint) NUMBERS(float) NUMBERS(double) NUMBERS(int64_t) NUMBERS(uint64_t)
NUMBERS(char) NUMBERS(signed char) NUMBERS(uchar) NUMBERS(short) NUMBERS(ushort) NUMBERS(half)
template <typename T> static T add_at(T* place, T value) { T old = *place; *place = old + value; return old; }
static int bits_set(uint64_t x) { return __builtin_popcountll(x); }
static int zeros_before(uint64_t x, int width) { return x ? __builtin_clzll(x) - (64 - width) : width; }

#if SHIM_CUDA  // and HIP
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(N)
#define __align__(N) __attribute__((aligned(N)))
static void __syncthreads() { block_barrier(); }
static void __syncwarp(uint mask = 0xffffffffu) {
  if (!(mask >> current % WARP & 1)) { fprintf(stderr, "a thread waits for others only\n"); abort(); }
  warp_barrier(mask);
}
static uint __ballot_sync(uint mask, bool holds) { return ballot(mask, holds); }
static uint __activemask() { return 0xffffffffu; }
#define __threadfence_block()
#define __builtin_amdgcn_wave_barrier() warp_barrier()
template <typename T> static T __shfl(T v, int lane, int width) { return shuffled_by(v, current % WARP / width * width + lane % width, width); }
template <typename T> static T __shfl_up(T v, int by, int width) { return shuffled_by(v, current % WARP - by, width); }
template <typename T> static T __shfl_down(T v, int by, int width) { return shuffled_by(v, current % WARP + by, width); }
template <typename T> static T __shfl_sync(uint, T v, int lane, int width) { return __shfl(v, lane, width); }
template <typename T> static T __shfl_up_sync(uint, T v, int by, int width) { return __shfl_up(v, by, width); }
template <typename T> static T __shfl_down_sync(uint, T v, int by, int width) { return __shfl_down(v, by, width); }
template <typename T> static T atomicAdd(T* p, T v) { return add_at(p, v); }
static int __popc(uint x) { return bits_set(x); }
static int __clz(uint x) { return zeros_before(x, 32); }
static int __dp4a(int a, int b, int c) {
  signed char x[4], y[4];
  memcpy(x, &a, 4);
  memcpy(y, &b, 4);
  for (int i = 0; i < 4; ++i) c += x[i] * y[i];
  return c;
}
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static float fast_expf(float x) { return expf(x); }
#define __expf fast_expf
#define __logf logf
#define __log2f log2f
#define __sinf sinf
#define __cosf cosf
#define __powf powf
static half hfloor(half x) { return half(floorf(x)); }
static half hceil(half x) { return half(ceilf(x)); }
static half htrunc(half x) { return half(truncf(x)); }
static half hrint(half x) { return half(rintf(x)); }
static half __habs(half x) { return half(fabsf(x)); }
static half hexp(half x) { return half(expf(x)); }
static half hsqrt(half x) { return half(sqrtf(x)); }
static half __hmax(half a, half b) { return max(a, b); }
static half __hmin(half a, half b) { return min(a, b); }
static __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a > (float)b ? a : b; }
static uint __float_as_uint(float x) { return as_uint(x); }
static float __uint_as_float(uint x) { return as_float(x); }
#else
#define SHIM_MATH(F) static float F(float x, int) { return F##f(x); }
static float rsqrt(float x) { return 1 / sqrtf(x); }
static half floor(half x) { return half(floorf(x)); }
static half fabs(half x) { return half(fabsf(x)); }
static half ceil(half x) { return half(ceilf(x)); }
static half trunc(half x) { return half(truncf(x)); }
static half rint(half x) { return half(rintf(x)); }
static half exp(half x) { return half(expf(x)); }
static half sqrt(half x) { return half(sqrtf(x)); }
static int popcount(uint x) { return bits_set(x); }
static int popcount(int x) { return bits_set((uint)x); }
static int clz(uint x) { return zeros_before(x, 32); }
static int clz(int x) { return zeros_before((uint)x, 32); }
#define __global
#define __local
#define __private
#define __kernel extern "C"
#define restrict __restrict__
#define CLK_LOCAL_MEM_FENCE 0
static void barrier(int) { block_barrier(); }
static size_t get_group_id(int axis) { return axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z; }
static size_t get_local_id(int axis) { return axis == 0 ? threadIdx.x : axis == 1 ? threadIdx.y : threadIdx.z; }
static uint get_sub_group_local_id() { return current % WARP; }
template <typename T> static T sub_group_shuffle(T v, uint lane) { return shuffled(v, (int)lane); }
static int atomic_add(volatile int* p, int v) { return add_at((int*)p, v); }
static uint atomic_add(volatile uint* p, uint v) { return add_at((uint*)p, v); }
static uint atomic_cmpxchg(volatile uint* p, uint old, uint next) { uint seen = *p; if (seen == old) *p = next; return seen; }
// Metal
#define kernel extern "C"
#define device
#define constant
#define threadgroup
#define thread
namespace mem_flags { enum { mem_threadgroup }; }
static void threadgroup_barrier(int) { block_barrier(); }
static void simdgroup_barrier(int) { warp_barrier(); }
template <typename T> static T simd_shuffle(T v, int lane) { return shuffled(v, lane); }
template <typename T> static T simd_shuffle_up(T v, int by) { return shuffled(v, current % WARP - by); }
template <typename T> static T simd_shuffle_down(T v, int by) { return shuffled(v, current % WARP + by); }
typedef int atomic_int;
typedef uint atomic_uint;
typedef float atomic_float;
enum { memory_order_relaxed };
template <typename T> static T atomic_fetch_add_explicit(T* p, T v, int) { return add_at(p, v); }
#define half_max(a, b) max(a, b)
static float fmax(half a, half b) { return fmaxf(a, b); }
#endif

// --- a launch: arguments by address, then the numbers of blocks and threads ---

template <typename T> struct Given { static T take(void** args, int i) { return *(T*)args[i]; } };
template <typename T> struct Given<T*> { static T* take(void** args, int i) { return (T*)args[i]; } };
template <typename T> struct Given<T&> { static T& take(void** args, int i) { return *(T*)args[i]; } };
// Metal hands numbers of threads over as parameters: first the block's
template <> struct Given<Place> {
  static Place take(void** args, int i) { return args[i] == nullptr ? blockIdx : threadIdx; }
};
template <typename... P, size_t... I>
static void call(void (*f)(P...), void** args, std::index_sequence<I...>) { f(Given<P>::take(args, I)...); }
template <typename... P> static void call(void (*f)(P...), void** args) { call(f, args, std::index_sequence_for<P...>()); }
template <typename... P> static const char* parameters(void (*)(P...)) {
  static const char kinds[] = {(std::is_pointer<P>::value ? 'p' : 'v')..., 0};
  return kinds;
}
static void** arguments;
static int launch(void (*one)(), void** args, const int* extents, int warp) {
  run_kernel = one;
  arguments = args;
  WARP = warp;
  blockDim = {(uint)extents[3], (uint)extents[4], (uint)extents[5]};
  fibers.resize(blockDim.x * blockDim.y * blockDim.z);
  for (int z = 0; z < extents[2]; ++z)
    for (int y = 0; y < extents[1]; ++y)
      for (int x = 0; x < extents[0]; ++x) {
        blockIdx = {(uint)x, (uint)y, (uint)z};
        if (run_block() != 0) return 1;
      }
  return 0;
}
