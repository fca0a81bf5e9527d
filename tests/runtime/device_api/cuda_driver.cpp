// A stand-in for the CUDA driver, on this machine's memory. Work waits in its stream until
// something needs it, so a missing wait shows as a wrong value. Modules are shared libraries of
// C++ (tests/backend/device/shim.h) in the place of cubins.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

enum { OK = 0, BAD_VALUE = 1, NO_MEMORY = 2, NOT_FOUND = 500, BAD_HANDLE = 400, IN_CAPTURE = 900 };
static const size_t MEMORY = size_t(256) << 20;  // of each of two devices
static const int DEVICES = 2;

typedef std::function<void()> Work;
struct Queued { uint64_t number; Work run; };
struct Stream {
  std::deque<Queued> queue;
  std::vector<Work>* graph = nullptr;  // of a capture that has begun
  bool blocking = true;                // meets the work of stream 0
};
struct Event { Stream* stream; uint64_t number; double time; };
struct Kernel { int (*run)(void**, const int*); std::string parameters; int most_shared; };
struct Module { void* library; std::map<std::string, Kernel> kernels; };

static std::recursive_mutex one_at_a_time;
static std::map<uint64_t, std::pair<size_t, int>> blocks;  // start -> bytes, device
static size_t used[DEVICES];
static Stream streams_of_devices[DEVICES];
static std::vector<Stream*> all_streams[DEVICES];
static uint64_t counter;
static thread_local int device = -1;
static double clock_ms;  // grows with each launch

#define LOCKED std::lock_guard<std::recursive_mutex> guard(one_at_a_time)
#define IN_CONTEXT if (device < 0) return 201
static Stream* stream_of(void* s) { return s ? (Stream*)s : &streams_of_devices[device]; }

// All work of a stream up to a number, with what it has to follow.
static void drain(Stream* s, uint64_t until, int d) {
  while (!s->queue.empty() && s->queue.front().number <= until) {
    Queued one = std::move(s->queue.front());
    s->queue.pop_front();
    Stream* first = &streams_of_devices[d];
    if (s != first && s->blocking) drain(first, one.number, d);
    if (s == first)
      for (Stream* other : all_streams[d]) if (other->blocking) drain(other, one.number, d);
    one.run();
  }
}
static int add(void* s, Work work) {
  Stream* stream = stream_of(s);
  if (stream->graph) stream->graph->push_back(work);
  else stream->queue.push_back({++counter, work});
  return OK;
}
static void finish_all() {
  for (int d = 0; d < DEVICES; d++) {
    drain(&streams_of_devices[d], UINT64_MAX, d);
    for (Stream* s : all_streams[d]) drain(s, UINT64_MAX, d);
  }
}
static bool inside(uint64_t start, size_t bytes) {
  auto found = blocks.upper_bound(start);
  return found != blocks.begin() && (--found, start + bytes <= found->first + found->second.first);
}

extern "C" {
int cuInit(unsigned) { return OK; }
int cuDriverGetVersion(int* v) { *v = 13000; return OK; }
int cuDeviceGetCount(int* n) { *n = DEVICES; return OK; }
int cuDeviceGet(int* d, int n) { *d = n; return n < DEVICES ? OK : 101; }
int cuDeviceGetName(char* name, int len, int d) {
  snprintf(name, len, "stand-in %d", d);
  return OK;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  static const std::map<int, int> known = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {8, 49152},
    {10, 32}, {12, 65536}, {13, 1500000}, {16, 2}, {38, 1 << 20}, {75, 8}, {76, 0}};
  auto found = known.find(which);
  if (found == known.end()) return BAD_VALUE;
  *value = found->second;
  return OK;
}
int cuDevicePrimaryCtxRetain(void** context, int d) { *context = (void*)(intptr_t)(d + 1); return OK; }
int cuCtxSetCurrent(void* context) { device = (int)(intptr_t)context - 1; return OK; }
int cuMemGetInfo_v2(size_t* available, size_t* total) {
  LOCKED; IN_CONTEXT;
  *available = MEMORY - used[device];
  *total = MEMORY;
  return OK;
}
int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
  LOCKED; IN_CONTEXT;
  if (bytes == 0) return BAD_VALUE;
  if (used[device] + bytes > MEMORY) return NO_MEMORY;
  void* memory = aligned_alloc(512, (bytes + 511) / 512 * 512);
  memset(memory, 0xA5, bytes);  // what nobody wrote is no zero
  *at = (uint64_t)memory;
  blocks[*at] = {bytes, device};
  used[device] += bytes;
  return OK;
}
int cuMemFree_v2(uint64_t at) {
  LOCKED; IN_CONTEXT;
  auto found = blocks.find(at);
  if (found == blocks.end() || found->second.second != device) return BAD_VALUE;
  finish_all();
  used[device] -= found->second.first;
  blocks.erase(found);
  free((void*)at);
  return OK;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t n, void* s) {
  LOCKED; IN_CONTEXT;
  if (!inside(to, n)) return BAD_VALUE;
  std::string bytes((const char*)from, n);  // of memory that is not pinned the driver has a copy
  return add(s, [=] { memcpy((void*)to, bytes.data(), n); });
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t n, void* s) {
  LOCKED; IN_CONTEXT;
  if (!inside(from, n)) return BAD_VALUE;
  return add(s, [=] { memcpy(to, (void*)from, n); });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void* s) {
  LOCKED; IN_CONTEXT;
  if (!inside(from, n) || !inside(to, n)) return BAD_VALUE;
  return add(s, [=] { memmove((void*)to, (void*)from, n); });
}
int cuPointerGetAttribute(void* into, int which, uint64_t at) {
  LOCKED;
  auto found = blocks.upper_bound(at);
  if (which != 9 || found == blocks.begin()) return BAD_VALUE;
  *(int*)into = (--found)->second.second;
  return OK;
}
int cuStreamCreate(void** s, unsigned flags) {
  LOCKED; IN_CONTEXT;
  Stream* made = new Stream;
  made->blocking = !(flags & 1);
  all_streams[device].push_back(made);
  *s = made;
  return OK;
}
int cuStreamSynchronize(void* s) {
  LOCKED; IN_CONTEXT;
  Stream* stream = stream_of(s);
  if (stream->graph) return IN_CAPTURE;
  drain(stream, UINT64_MAX, device);
  return OK;
}
int cuStreamDestroy_v2(void* s) {
  LOCKED; IN_CONTEXT;
  drain((Stream*)s, UINT64_MAX, device);
  auto& those = all_streams[device];
  for (size_t i = 0; i < those.size(); i++) if (those[i] == s) { those.erase(those.begin() + i); return OK; }
  return BAD_HANDLE;
}
int cuStreamWaitEvent(void* s, void* e, unsigned) {
  LOCKED; IN_CONTEXT;
  Event* event = (Event*)e;
  Stream* from = event->stream;
  uint64_t number = event->number;
  int d = device;
  return add(s, [=] { drain(from, number, d); });
}
int cuEventCreate(void** e, unsigned) { *e = new Event(); return OK; }
int cuEventDestroy_v2(void* e) { LOCKED; finish_all(); delete (Event*)e; return OK; }
int cuEventRecord(void* e, void* s) {
  LOCKED; IN_CONTEXT;
  Event* event = (Event*)e;
  event->stream = stream_of(s);
  add(s, [=] { event->time = clock_ms; });
  event->number = counter;
  return OK;
}
int cuEventSynchronize(void* e) {
  LOCKED; IN_CONTEXT;
  Event* event = (Event*)e;
  drain(event->stream, event->number, device);
  return OK;
}
int cuEventElapsedTime_v2(float* ms, void* start, void* end) {
  *ms = (float)(((Event*)end)->time - ((Event*)start)->time);
  return OK;
}
int cuModuleLoadData(void** module, const void* image) {
  LOCKED; IN_CONTEXT;
  const char* bytes = (const char*)image;
  if (memcmp(bytes, "\177ELF", 4)) return 200;
  uint64_t size = *(uint64_t*)(bytes + 40) + *(uint16_t*)(bytes + 58) * *(uint16_t*)(bytes + 60);
  char path[] = "/tmp/tvm-stand-in-XXXXXX";
  int file = mkstemp(path);
  bool whole = write(file, bytes, size) == (ssize_t)size;
  close(file);
  void* library = whole ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path);
  if (!library) return 200;
  *module = new Module{library, {}};
  return OK;
}
int cuModuleGetFunction(void** function, void* m, const char* name) {
  LOCKED; IN_CONTEXT;
  Module* module = (Module*)m;
  void* run = dlsym(module->library, ("run_" + std::string(name)).c_str());
  void* tell = dlsym(module->library, ("parameters_" + std::string(name)).c_str());
  if (!run || !tell) return NOT_FOUND;
  Kernel& kernel = module->kernels[name];
  kernel = {(int (*)(void**, const int*))run, ((const char* (*)())tell)(), 48 << 10};
  *function = &kernel;
  return OK;
}
int cuFuncSetAttribute(void* f, int which, int value) {
  if (which != 8 || value > (99 << 10)) return BAD_VALUE;
  ((Kernel*)f)->most_shared = value;
  return OK;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* s, void** given, void**) {
  LOCKED; IN_CONTEXT;
  Kernel* kernel = (Kernel*)f;
  if (bx * by * bz > 1024 || !gx || !gy || !gz || !bx || !by || !bz) return BAD_VALUE;
  if ((int)shared > kernel->most_shared) return BAD_VALUE;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel->parameters.size(); i++) values.push_back(*(uint64_t*)given[i]);
  int here = device;
  std::vector<int> extents = {(int)gx, (int)gy, (int)gz, (int)bx, (int)by, (int)bz};
  return add(s, [=]() mutable {
    std::vector<void*> pointers;
    for (size_t i = 0; i < values.size(); i++) {
      bool memory = kernel->parameters[i] == 'p';
      if (memory && values[i]) {
        auto found = blocks.upper_bound(values[i]);
        bool ours = found != blocks.begin() && (--found)->second.second == here;
        if (!ours || values[i] >= found->first + found->second.first) {
          fprintf(stderr, "a kernel was given memory that is not its device's\n");
          abort();
        }
      }
      pointers.push_back(memory ? (void*)values[i] : (void*)&values[i]);
    }
    if (kernel->run(pointers.data(), extents.data())) {
      fprintf(stderr, "threads do not meet\n");
      abort();
    }
    clock_ms += 1;
  });
}
int cuStreamBeginCapture_v2(void* s, int) {
  LOCKED;
  if (!s) return IN_CAPTURE;
  ((Stream*)s)->graph = new std::vector<Work>;
  return OK;
}
int cuStreamEndCapture(void* s, void** graph) {
  LOCKED;
  *graph = ((Stream*)s)->graph;
  ((Stream*)s)->graph = nullptr;
  return OK;
}
int cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long) {
  *ready = new std::vector<Work>(*(std::vector<Work>*)graph);
  return OK;
}
int cuGraphDestroy(void* graph) { delete (std::vector<Work>*)graph; return OK; }
int cuGraphExecDestroy(void* ready) { LOCKED; finish_all(); delete (std::vector<Work>*)ready; return OK; }
int cuGraphLaunch(void* ready, void* s) {
  LOCKED; IN_CONTEXT;
  auto* steps = (std::vector<Work>*)ready;
  return add(s, [=] { for (auto& step : *steps) step(); });
}
int cuGetErrorString(int code, const char** text) {
  *text = code == NO_MEMORY ? "out of memory" : "an error of the stand-in";
  return OK;
}
int cuGetErrorName(int, const char** text) { *text = "ERROR"; return OK; }
int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
  for (const char* suffix : {"", "_v2", "WithFlags"}) {
    *function = dlsym(RTLD_DEFAULT, (std::string(name) + suffix).c_str());
    if (!*function) {
      static void* own = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
      *function = own ? dlsym(own, (std::string(name) + suffix).c_str()) : nullptr;
    }
    if (*function) break;
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char* name, void** function, int v, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, v, flags, nullptr);
}
}
