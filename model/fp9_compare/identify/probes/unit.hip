// Sums that tell accumulators apart, run on one matrix core instruction.
//
//   hipcc --offload-arch=$architecture -o unit unit.hip && ./unit > unit.rows && fp9 identify unit.rows
//
// Each line that is printed is one sum: codes of a, of b, of c and of the result. $depth products of a row of A and a
// column of B go through $instruction, $depth / 32 of them in a chain, from c on.

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#define DEPTH $depth
#define COUNT $count

static const char *const ROWS[COUNT] = {
$rows
};

typedef float Four __attribute__((ext_vector_type(4)));

// Row 0 of A and column 0 of B lie in the lanes 0, 16, 32 and 48: eight elements in each. Lane 0 holds the result.
__global__ void sums(const uint8_t *a, const uint8_t *b, const uint32_t *c, uint32_t *d) {
    const int lane = threadIdx.x, row = blockIdx.x;
    Four sum = {0.0f, 0.0f, 0.0f, 0.0f};
    if (lane == 0) sum[0] = __uint_as_float(c[row]);
    for (int k = 0; k < DEPTH; k += 32) {
        long x = 0, y = 0;
        if (lane % 16 == 0) {
            memcpy(&x, a + row * DEPTH + k + lane / 2, 8);
            memcpy(&y, b + row * DEPTH + k + lane / 2, 8);
        }
        sum = $instruction(x, y, sum, 0, 0, 0);
    }
    if (lane == 0) d[row] = __float_as_uint(sum[0]);
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static int check(hipError_t error) {
    if (error != hipSuccess) fprintf(stderr, "%s\n", hipGetErrorString(error));
    return error != hipSuccess;
}

int main() {
    static uint8_t a[COUNT * DEPTH], b[COUNT * DEPTH];
    static uint32_t c[COUNT], d[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const char *text = ROWS[i];
        for (int k = 0; k < DEPTH; k++, text += 2) a[i * DEPTH + k] = 16 * digit(text[0]) + digit(text[1]);
        text++;
        for (int k = 0; k < DEPTH; k++, text += 2) b[i * DEPTH + k] = 16 * digit(text[0]) + digit(text[1]);
        c[i] = 0;
        for (text++; *text != 0; text++) c[i] = 16 * c[i] + digit(*text);
    }
    uint8_t *on_a, *on_b;
    uint32_t *on_c, *on_d;
    if (check(hipMalloc(&on_a, sizeof a)) || check(hipMalloc(&on_b, sizeof b)) || check(hipMalloc(&on_c, sizeof c)) ||
        check(hipMalloc(&on_d, sizeof d)) || check(hipMemcpy(on_a, a, sizeof a, hipMemcpyHostToDevice)) ||
        check(hipMemcpy(on_b, b, sizeof b, hipMemcpyHostToDevice)) ||
        check(hipMemcpy(on_c, c, sizeof c, hipMemcpyHostToDevice)))
        return 1;
    sums<<<COUNT, 64>>>(on_a, on_b, on_c, on_d);
    if (check(hipGetLastError()) || check(hipMemcpy(d, on_d, sizeof d, hipMemcpyDeviceToHost))) return 1;
    puts("$header");
    for (int i = 0; i < COUNT; i++) printf("%s %08x\n", ROWS[i], d[i]);
    return 0;
}
