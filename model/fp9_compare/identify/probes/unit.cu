// Sums that tell accumulators apart, run on one tensor core instruction.
//
//   nvcc $architecture -o unit unit.cu && ./unit > unit.rows && fp9 identify unit.rows
//
// Each line that is printed is one sum: codes of a, of b, of c and of the result. $depth products of a row of A and a
// column of B go through $name, $step of them in a chain, from c on.

#include <cstdint>
#include <cstdio>
#include <cstring>

#define DEPTH $depth
#define COUNT $count
#define THREADS $threads

static const char *const ROWS[COUNT] = {
$rows
};

typedef $code Code;  // a code of A and B, in the highest bits
typedef $word Word;  // a code of C and of the result

// A step has 32 bytes of an operand. Row 0 of A and column 0 of B lie in the threads 0 to 3: four bytes at 4 * thread,
// and four at 16 + 4 * thread.
__global__ void sums(const Code *a, const Code *b, const Word *c, Word *d) {
    const int thread = threadIdx.x, row = blockIdx.x;
    $registers
    for (int k = 0; k < DEPTH; k += $step) {
        uint32_t a0 = 0, a2 = 0, b0 = 0, b1 = 0;
        if (thread < 4) {
            const char *from_a = (const char *)(a + row * DEPTH + k), *from_b = (const char *)(b + row * DEPTH + k);
            memcpy(&a0, from_a + 4 * thread, 4);
            memcpy(&a2, from_a + 16 + 4 * thread, 4);
            memcpy(&b0, from_b + 4 * thread, 4);
            memcpy(&b1, from_b + 16 + 4 * thread, 4);
        }
        $instruction
    }
    if (thread == 0) d[row] = $result;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static unsigned number(const char **text, int digits) {
    unsigned found = 0;
    while (digits--) found = 16 * found + digit(*(*text)++);
    return found;
}

static int check(cudaError_t error) {
    if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

int main() {
    static Code a[COUNT * DEPTH], b[COUNT * DEPTH];
    static Word c[COUNT], d[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const char *text = ROWS[i];
        for (int k = 0; k < DEPTH; k++) a[i * DEPTH + k] = (Code)(number(&text, $digits) << $shift);
        text++;
        for (int k = 0; k < DEPTH; k++) b[i * DEPTH + k] = (Code)(number(&text, $digits) << $shift);
        text++;
        c[i] = (Word)number(&text, 2 * sizeof(Word));
    }
    Code *on_a, *on_b;
    Word *on_c, *on_d;
    if (check(cudaMalloc(&on_a, sizeof a)) || check(cudaMalloc(&on_b, sizeof b)) || check(cudaMalloc(&on_c, sizeof c)) ||
        check(cudaMalloc(&on_d, sizeof d)) || check(cudaMemcpy(on_a, a, sizeof a, cudaMemcpyHostToDevice)) ||
        check(cudaMemcpy(on_b, b, sizeof b, cudaMemcpyHostToDevice)) ||
        check(cudaMemcpy(on_c, c, sizeof c, cudaMemcpyHostToDevice)))
        return 1;
    sums<<<COUNT, THREADS>>>(on_a, on_b, on_c, on_d);
    if (check(cudaGetLastError()) || check(cudaMemcpy(d, on_d, sizeof d, cudaMemcpyDeviceToHost))) return 1;
    puts("$header");
    for (int i = 0; i < COUNT; i++) printf("%s %0*x\n", ROWS[i], (int)(2 * sizeof(Word)), (unsigned)d[i]);
    return 0;
}
