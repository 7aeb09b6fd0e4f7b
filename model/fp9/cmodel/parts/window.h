#ifndef FP9_WINDOW
#define FP9_WINDOW
/* value / 2^shift toward minus infinity. */
FP9_FN int64_t fp9_floor(int64_t value, int shift, int *dropped)
{
    int64_t kept;
    if (shift <= 0) return value * ((int64_t)1 << -shift);
    if (shift > 62) shift = 62;
    kept = value < 0 ? -1 - ((-1 - value) >> shift) : value >> shift;
    if (kept * ((int64_t)1 << shift) != value) *dropped = 1;
    return kept;
}

/* The aligned sum rounded. It is an integer, so that its zero has no sign. */
FP9_FN uint32_t fp9_round_aligned(fp9_layout f, fp9_number sum, fp9_policy p, uint32_t nan, int flush, int dropped, uint32_t *flags)
{
    uint32_t code;
    int tiny = sum.significand && sum.exponent + fp9_bits(sum.significand) <= f.lowest;
    if (!sum.significand) sum = fp9_integer(0, 0);
    code = fp9_round_sum(f, sum, p, nan, flush, flags);
    if (dropped) *flags |= FP9_INEXACT | (tiny && !*flags ? FP9_UNDERFLOW : 0);
    return fp9_decode(f, code).kind == FP9_ZERO ? 0 : code;
}
#endif /* FP9_WINDOW */
