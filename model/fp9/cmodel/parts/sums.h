#ifndef FP9_SUMS
#define FP9_SUMS
FP9_FN fp9_number fp9_product(fp9_number a, fp9_number b)
{
    fp9_number x = {FP9_FINITE, 0, 0, 0, 0};
    x.negative = a.negative != b.negative;
    x.exponent = a.exponent + b.exponent;
    x.alignment = a.alignment + b.alignment;
    x.significand = a.significand * b.significand;
    if (a.kind == FP9_FINITE && b.kind == FP9_FINITE) return x;
    x.significand = 0;
    x.kind = a.kind > b.kind ? a.kind : b.kind;
    if (a.kind == FP9_NAN || b.kind == FP9_NAN) x.kind = FP9_NAN;
    if (x.kind == FP9_INF && (a.kind == FP9_ZERO || b.kind == FP9_ZERO)) x.kind = FP9_UNDEFINED;
    if (a.kind < FP9_INF && b.kind < FP9_INF) x.kind = FP9_ZERO;
    return x;
}

/* The kinds and signs of the terms of a sum. */
typedef struct {
    int nan, undefined;
    int infinities, signs; /* 1 for a positive one, 2 for a negative one, 3 for both */
    int finite;            /* a term is neither zero nor special */
} fp9_seen;

FP9_FN void fp9_see(fp9_seen *seen, fp9_number x)
{
    seen->nan |= x.kind == FP9_NAN;
    seen->undefined |= x.kind == FP9_UNDEFINED;
    seen->infinities |= x.kind == FP9_INF ? 1 << x.negative : 0;
    seen->finite |= x.kind == FP9_FINITE;
    seen->signs |= 1 << x.negative;
}

FP9_FN int fp9_is_special(fp9_seen seen)
{
    return seen.nan | seen.undefined | seen.infinities;
}

/* The sum of terms among which are NaN or infinities; the two codes are those of a NaN with and without a NaN term. */
FP9_FN uint32_t fp9_special_sum(fp9_layout f, fp9_seen seen, uint32_t nan, uint32_t invalid_nan, uint32_t *flags)
{
    int undefined = seen.undefined || seen.infinities == 3;
    *flags = undefined && !seen.nan ? FP9_INVALID : 0;
    if (seen.nan || undefined) return seen.nan ? nan : invalid_nan;
    return f.infinity < 0 ? nan : fp9_signed_code(f, (uint32_t)f.infinity, seen.infinities == 2);
}

/* A sum of zero: a common sign of zeros stays; -0 from cancellation where the rounding is down. */
FP9_FN fp9_number fp9_zero_sum(fp9_seen seen, int rounding)
{
    fp9_number x = {FP9_ZERO, 0, 0, 0, 0};
    x.negative = !seen.finite && seen.signs != 3 ? seen.signs == 2 : rounding == FP9_RDN;
    return x;
}

/* One rounding of a sum; `flush`: results that are tiny become zero. */
FP9_FN uint32_t fp9_round_sum(fp9_layout f, fp9_number sum, fp9_policy p, uint32_t nan, int flush, uint32_t *flags)
{
    uint32_t code = fp9_encode(f, sum, p, flags);
    if (flush && ((*flags & FP9_UNDERFLOW) || fp9_flushed(fp9_decode(f, code), f.lowest).kind != fp9_decode(f, code).kind)) {
        *flags = FP9_UNDERFLOW | FP9_INEXACT;
        return fp9_signed_code(f, 0, sum.negative);
    }
    return f.infinity < 0 && fp9_decode(f, code).kind == FP9_NAN ? nan : code;
}
#endif /* FP9_SUMS */
