/* Tiles of sums. A block has @{tile} x @{tile} sums, and a thread has 4 x 4 of them. */
enum {
    PRODUCTS = @{products}, STEPS = @{steps}, SLAB = @{slab}, TILE = @{tile}, THREADS = @{threads},
    ROW = TILE + 4, /* words of a row in shared memory */
    WINDOW = @{window}, FRACTION = @{fraction}, LOWEST = @{lowest}, HIGHEST = @{highest}, NOTHING = @{nothing}
};

/* Operands of a slab: significands, signs as -1 or 1, and alignment exponents in pairs of the products k and k + 1. */
typedef struct {
    __align__(16) uint32_t significand[SLAB][ROW];
    __align__(16) int32_t sign[SLAB][ROW];
    __align__(16) int16_t exponent[SLAB / 2][ROW][2];
    int special[TILE];   /* whether a row or column has an infinity or a NaN */
    uint32_t zeros[TILE]; /* bit s: step s has a zero */
} fp9_slab;

static __device__ __forceinline__ void fp9_store(fp9_slab *to, int k, int line, fp9_number x, int lift)
{
    const int some = x.kind == FP9_FINITE;
    to->significand[k][line] = some ? (uint32_t)x.significand << lift : 0;
    to->sign[k][line] = x.negative ? -1 : 1;
    to->exponent[k / 2][line][k % 2] = (int16_t)(some ? x.alignment : NOTHING);
    if (x.kind > FP9_FINITE) to->special[line] = 1;
}

/* The larger one of s and x + y, for two pairs of 16 bits. */
static __device__ __forceinline__ uint32_t fp9_larger(uint32_t x, uint32_t y, uint32_t s)
{
    return __viaddmax_s16x2(x, y, s);
}

static __device__ __forceinline__ int fp9_low(uint32_t pair) { return (int16_t)pair; }
static __device__ __forceinline__ int fp9_high(uint32_t pair) { return (int32_t)pair >> 16; }

/* total * 2^unit as m * 2^e in the result's format; returns whether it is above the largest number. */
static __device__ __forceinline__ int fp9_rounded_to(@{word} total, int unit, int *m, int *e)
{
    const @{unsigned} size = total < 0 ? 0 - (@{unsigned})total : (@{unsigned})total;
    const int length = @{bits_of}size), drop = max(length - FRACTION - 1, LOWEST - FRACTION - unit);
    uint32_t kept;
    if (drop >= @{word_bits}) kept = 0;
    else kept = (uint32_t)(drop > 0 ? size >> drop : size << -drop);
    *e = unit + drop;
#if @{nearest}
    if (drop > 0 && drop < @{word_bits}) {
        const @{unsigned} half = (@{unsigned})1 << (drop - 1), rest = size & (2 * half - 1);
        kept += rest > half || (rest == half && (kept & 1));
    }
    if (kept >> (FRACTION + 1)) {
        kept >>= 1;
        ++*e;
    }
#endif
    *m = total < 0 ? -(int)kept : (int)kept;
    return kept >> FRACTION && (*e + FRACTION > HIGHEST || (*e + FRACTION == HIGHEST && kept > @{limit}u));
}

static __device__ __forceinline__ uint32_t fp9_code_of(int m, int e)
{
    const uint32_t size = m < 0 ? -m : m;
    const uint32_t field = ((uint32_t)(e + FRACTION + @{bias}) << FRACTION) + size - ((uint32_t)1 << FRACTION);
    return size ? (field << @{padding}) | ((uint32_t)(m < 0) << @{sign}) : 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) fp9_tiles(
    const @{code_a} *a, const @{code_b} *b, @{code_d} *d, uint8_t *redo, int m, int n, int k,
    long long row_a, long long column_a, long long row_b, long long column_b)
{
    __shared__ fp9_slab left, right;
    const int thread = threadIdx.x, x = thread % 16 * 4, y = thread / 16 * 4;
    const int top = blockIdx.y * TILE, side = blockIdx.x * TILE;
    int sum[4][4], exponent[4][4], beyond = 0;
#if @{joins}
    uint32_t total[4][4];
#endif
    if (thread < TILE) left.special[thread] = right.special[thread] = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        sum[i / 4][i % 4] = 0;
        exponent[i / 4][i % 4] = LOWEST - FRACTION;
#if @{joins}
        total[i / 4][i % 4] = 0;
#endif
    }
    for (int start = 0; start < k; start += @{chunk}) {
        const int CHUNK = @{chunk}, members = min(k - start, CHUNK), padded = @{padded};
        for (int base = 0; base < padded; base += SLAB) {
            __syncthreads();
            for (int item = thread; item < SLAB * TILE; item += THREADS) {
                const int of = item % SLAB, line = item / SLAB, first = base + of / PRODUCTS * PRODUCTS;
                const int i = of % PRODUCTS, place = @{place};
                const int in = place < members && base + of < padded;
                const fp9_number none = {FP9_ZERO, 0, 0, 0, 0};
                const long long at = start + place;
                fp9_store(&left, of, line,
                    in && top + line < m ? fp9_@{format_a}_decode(a[(top + line) * row_a + at * column_a]) : none, @{lift});
                fp9_store(&right, of, line,
                    in && side + line < n ? fp9_@{format_b}_decode(b[at * row_b + (side + line) * column_b]) : none, 0);
            }
            __syncthreads();
#if @{zeros}
            if (thread < 2 * TILE) {
                fp9_slab *slab = thread < TILE ? &left : &right;
                uint32_t zeros = 0;
                for (int of = 0; of < SLAB; ++of) {
                    const int first = base + of / PRODUCTS * PRODUCTS, i = of % PRODUCTS, place = @{place};
                    if (place < members && base + of < padded && !slab->significand[of][thread % TILE])
                        zeros |= 1u << of / PRODUCTS;
                }
                slab->zeros[thread % TILE] = zeros;
            }
            __syncthreads();
#endif
#pragma unroll 1
            for (int step = 0; step < STEPS && base + step * PRODUCTS < padded; ++step) {
                const int begin = step * PRODUCTS;
                uint32_t largest[4][4];
                @{word} aligned[4][4];
#pragma unroll
                for (int i = 0; i < 16; ++i) largest[i / 4][i % 4] = (uint32_t)(2 * NOTHING) << 16 | ((2 * NOTHING) & 0xFFFF);
#pragma unroll 2
                for (int pair = begin / 2; pair < (begin + PRODUCTS) / 2; ++pair) {
                    const uint4 e = *(const uint4 *)left.exponent[pair][y], f = *(const uint4 *)right.exponent[pair][x];
                    const uint32_t u[4] = {e.x, e.y, e.z, e.w}, v[4] = {f.x, f.y, f.z, f.w};
#pragma unroll
                    for (int i = 0; i < 16; ++i)
                        largest[i / 4][i % 4] = fp9_larger(u[i / 4], v[i % 4], largest[i / 4][i % 4]);
                }
                int last[4][4]; /* the window's highest exponent */
#pragma unroll
                for (int i = 0; i < 16; ++i) {
                    const int r = i / 4, c = i % 4;
                    last[r][c] = max(fp9_low(largest[r][c]), fp9_high(largest[r][c]));
                    if (sum[r][c]) last[r][c] = max(last[r][c], exponent[r][c] + FRACTION);
#if @{zeros}
                    if (!sum[r][c] || ((left.zeros[y + r] | right.zeros[x + c]) >> step & 1))
                        last[r][c] = max(last[r][c], @{zero_exponent});
#endif
                    aligned[r][c] = 0;
                }
#pragma unroll 2
                for (int pair = begin / 2; pair < (begin + PRODUCTS) / 2; ++pair) {
                    const uint4 e = *(const uint4 *)left.exponent[pair][y], f = *(const uint4 *)right.exponent[pair][x];
                    const uint32_t u[4] = {e.x, e.y, e.z, e.w}, v[4] = {f.x, f.y, f.z, f.w};
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const uint4 p = *(const uint4 *)&left.significand[2 * pair + half][y];
                        const uint4 q = *(const uint4 *)&right.significand[2 * pair + half][x];
                        const int4 s = *(const int4 *)&left.sign[2 * pair + half][y];
                        const int4 t = *(const int4 *)&right.sign[2 * pair + half][x];
                        const uint32_t sa[4] = {p.x, p.y, p.z, p.w}, sb[4] = {q.x, q.y, q.z, q.w};
                        const int ga[4] = {s.x, s.y, s.z, s.w}, gb[4] = {t.x, t.y, t.z, t.w};
#pragma unroll
                        for (int i = 0; i < 16; ++i) {
                            const int r = i / 4, c = i % 4;
                            const int ea = half ? fp9_high(u[r]) : fp9_low(u[r]), eb = half ? fp9_high(v[c]) : fp9_low(v[c]);
                            const uint32_t shift = (uint32_t)(last[r][c] - ea - eb + @{drop});
                            const uint32_t kept = __funnelshift_rc(sa[r] * sb[c], 0, shift);
                            aligned[r][c] += (@{word})(int)kept * (ga[r] * gb[c]);
                        }
                    }
                }
#pragma unroll
                for (int i = 0; i < 16; ++i) {
                    const int r = i / 4, c = i % 4, unit = last[r][c] - WINDOW, shift = unit - exponent[r][c];
                    const uint32_t size = sum[r][c] < 0 ? -sum[r][c] : sum[r][c];
                    const @{word} kept = shift > 0 ? (@{word})__funnelshift_rc(size, 0, shift) : (@{word})size << (size ? -shift : 0);
                    beyond |= fp9_rounded_to(
                        aligned[r][c] + (sum[r][c] < 0 ? -kept : kept), unit, &sum[r][c], &exponent[r][c]) << i;
                }
            }
        }
#if @{joins}
#pragma unroll 1
        for (int i = 0; i < 16; ++i) {
#pragma unroll
            for (int j = 0; j < 16; ++j) { /* registers are indexed by constants alone */
                if (i != j) continue;
                uint32_t raised;
                total[j / 4][j % 4] = @{join}(fp9_integer(sum[j / 4][j % 4], exponent[j / 4][j % 4]),
                    fp9_@{output}_decode(total[j / 4][j % 4]), &raised);
                sum[j / 4][j % 4] = 0;
                exponent[j / 4][j % 4] = LOWEST - FRACTION;
            }
        }
#endif
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int row = top + y + i / 4, column = side + x + i % 4;
        if (row >= m || column >= n) continue;
        const long long place = (long long)row * n + column;
#if @{joins}
        d[place] = (@{code_d})total[i / 4][i % 4];
#else
        d[place] = (@{code_d})fp9_code_of(sum[i / 4][i % 4], exponent[i / 4][i % 4]);
#endif
        redo[place] = (beyond >> i & 1) || left.special[y + i / 4] || right.special[x + i % 4];
    }
}
