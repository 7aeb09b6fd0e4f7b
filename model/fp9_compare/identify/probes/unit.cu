// Sums that tell accumulators apart, run on one tensor core instruction.
//
//   nvcc -arch=native -o unit unit.cu && ./unit > unit.rows && fp9 identify unit.rows
//
// Each line that is printed is one sum: codes of a, of b, of c and of the result. $depth products of a row of A and a
// column of B go through mma.sync.m16n8k32, $depth / 32 of them in a chain, from c on.

#include <cstdint>
#include <cstdio>
#include <cstring>

#define DEPTH $depth
#define COUNT $count

static const char *const ROWS[COUNT] = {
$rows
};

typedef $word Word;  // a code of C and of the result

// Row 0 of A and column 0 of B lie in the lanes 0 to 3: four elements at 4 * lane, and four at 16 + 4 * lane.
__global__ void sums(const uint8_t *a, const uint8_t *b, const Word *c, Word *d) {
    const int lane = threadIdx.x, row = blockIdx.x;
    $registers
    for (int k = 0; k < DEPTH; k += 32) {
        uint32_t a0 = 0, a2 = 0, b0 = 0, b1 = 0;
        if (lane < 4) {
            memcpy(&a0, a + row * DEPTH + k + 4 * lane, 4);
            memcpy(&a2, a + row * DEPTH + k + 16 + 4 * lane, 4);
            memcpy(&b0, b + row * DEPTH + k + 4 * lane, 4);
            memcpy(&b1, b + row * DEPTH + k + 16 + 4 * lane, 4);
        }
        $instruction
    }
    if (lane == 0) d[row] = $result;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static int check(cudaError_t error) {
    if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

int main() {
    static uint8_t a[COUNT * DEPTH], b[COUNT * DEPTH];
    static Word c[COUNT], d[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const char *text = ROWS[i];
        for (int k = 0; k < DEPTH; k++, text += 2) a[i * DEPTH + k] = 16 * digit(text[0]) + digit(text[1]);
        text++;
        for (int k = 0; k < DEPTH; k++, text += 2) b[i * DEPTH + k] = 16 * digit(text[0]) + digit(text[1]);
        c[i] = 0;
        for (text++; *text != 0; text++) c[i] = 16 * c[i] + digit(*text);
    }
    uint8_t *on_a, *on_b;
    Word *on_c, *on_d;
    if (check(cudaMalloc(&on_a, sizeof a)) || check(cudaMalloc(&on_b, sizeof b)) || check(cudaMalloc(&on_c, sizeof c)) ||
        check(cudaMalloc(&on_d, sizeof d)) || check(cudaMemcpy(on_a, a, sizeof a, cudaMemcpyHostToDevice)) ||
        check(cudaMemcpy(on_b, b, sizeof b, cudaMemcpyHostToDevice)) ||
        check(cudaMemcpy(on_c, c, sizeof c, cudaMemcpyHostToDevice)))
        return 1;
    sums<<<COUNT, 32>>>(on_a, on_b, on_c, on_d);
    if (check(cudaGetLastError()) || check(cudaMemcpy(d, on_d, sizeof d, cudaMemcpyDeviceToHost))) return 1;
    puts("$header");
    for (int i = 0; i < COUNT; i++) printf("%s %0*x\n", ROWS[i], (int)(2 * sizeof(Word)), (unsigned)d[i]);
    return 0;
}
