/* Calls the kernels that a program has with the arguments in a file, and writes these back.
 *
 * The file (little-endian): how many calls; of each the number of its kernel, how many arguments it
 * has, and these: code and bits of the dtype, lanes, rank (1 byte, 1 byte, 2 bytes, 4 bytes), the
 * extents, the bytes of the values, and the values. What is written: of each call what it returned
 * (4 bytes), then the bytes of each of its arguments.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int32_t type, index; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } DType;
typedef struct {                                  /* DLTensor of DLPack */
  void *data; Device device; int32_t ndim; DType dtype; int64_t *shape, *strides; uint64_t offset;
} Tensor;
typedef struct { int32_t type; uint32_t zero; union { int64_t i; void *p; double f; }; } Any;
typedef int (*Kernel)(void *, const Any *, int32_t, Any *);
enum { TENSOR = 7, MOST = 64, RANK = 16 };

#include "kernels.h"                              /* KERNELS[] */

int TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { return -1; }
int TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int count) {
  return -1;
}
int TVMBackendParallelLaunch(int (*body)(int, void *, void *), void *data, int count) {
  struct { void *sync; int32_t tasks; } team = {0, 1};
  return body(0, &team, data);
}
void *TVMBackendAllocWorkspace(int type, int index, uint64_t size, int code, int bits) {
  return aligned_alloc(64, (size + 63) / 64 * 64 + 64);
}
int TVMBackendFreeWorkspace(int type, int index, void *data) { free(data); return 0; }

static void take(void *into, size_t size, FILE *file) {
  if (size && fread(into, size, 1, file) != 1) exit(3);
}

int main(int argc, char **argv) {
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  if (!in || !out) return 2;
  int32_t calls;
  take(&calls, 4, in);
  for (int32_t c = 0; c < calls; c++) {
    int32_t head[2];                              /* kernel, arguments */
    take(head, sizeof head, in);
    if (head[1] > MOST) return 4;
    Tensor tensors[MOST];
    Any args[MOST], result = {0};
    int64_t shapes[MOST][RANK], sizes[MOST];
    for (int32_t i = 0; i < head[1]; i++) {
      Tensor *t = &tensors[i];
      memset(t, 0, sizeof *t);
      t->device.type = 1;
      take(&t->dtype, 4, in);
      take(&t->ndim, 4, in);
      take(shapes[i], 8 * (size_t)t->ndim, in);
      take(&sizes[i], 8, in);
      t->shape = shapes[i];
      t->data = aligned_alloc(64, ((size_t)sizes[i] + 63) / 64 * 64 + 64);
      take(t->data, (size_t)sizes[i], in);
      args[i].type = TENSOR;
      args[i].zero = 0;
      args[i].p = t;
    }
    int32_t code = KERNELS[head[0]](0, args, head[1], &result);
    fwrite(&code, 4, 1, out);
    for (int32_t i = 0; i < head[1]; i++) {
      fwrite(tensors[i].data, 1, (size_t)sizes[i], out);
      free(tensors[i].data);
    }
    fflush(out);
  }
  return fclose(out) != 0;
}
