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

/* a + b, both below 2^60 * 2^exponent and finite or zero. The last bit is 1 where smaller bits are lost; these never
   decide a rounding to 24 bits, as they are lost only where the larger term is 4 times the other at least. */
FP9_FN fp9_number fp9_add(fp9_number a, fp9_number b)
{
    fp9_number sum;
    int top_a = a.exponent + fp9_bits(a.significand), top_b = b.exponent + fp9_bits(b.significand), lift, shift;
    uint64_t x;
    if (!a.significand) return b;
    if (!b.significand) return a;
    if (top_a < top_b) {
        sum = a;
        a = b;
        b = sum;
    }
    sum = a;
    lift = 61 - fp9_bits(a.significand);
    sum.exponent -= lift;
    sum.significand <<= lift;
    shift = sum.exponent - b.exponent;
    x = shift > 0 ? fp9_shift_sticky(b.significand, shift) : b.significand << -shift;
    if (a.negative == b.negative) {
        sum.significand += x;
    } else if (sum.significand >= x) {
        sum.significand -= x;
    } else {
        sum.significand = x - sum.significand;
        sum.negative = b.negative;
    }
    if (!sum.significand) sum.kind = FP9_ZERO;
    return sum;
}

enum { FP9_CUT_ZERO, FP9_CUT_FLOOR, FP9_CUT_JAM }; /* jam: a 1 in the last bit stands for what is cut off */

/* A term in units of 2^weight; bits below are cut off. */
FP9_FN int64_t fp9_align(fp9_number x, int weight, int cut, int *dropped)
{
    int shift = x.significand ? weight - x.exponent : 0;
    uint64_t kept = shift > 63 ? 0 : shift > 0 ? x.significand >> shift : x.significand << -shift;
    uint64_t lost = shift > 63 ? x.significand : shift > 0 ? x.significand & (((uint64_t)1 << shift) - 1) : 0;
    if (lost) {
        *dropped = 1;
        if (cut == FP9_CUT_JAM) kept |= 1;
        if (cut == FP9_CUT_FLOOR && x.negative) kept += 1;
    }
    return x.negative ? -(int64_t)kept : (int64_t)kept;
}

/* An integer times 2^exponent. */
FP9_FN fp9_number fp9_integer(int64_t value, int exponent)
{
    fp9_number x = {FP9_FINITE, 0, 0, 0, 0};
    x.kind = value ? FP9_FINITE : FP9_ZERO;
    x.negative = value < 0;
    x.significand = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    x.exponent = exponent;
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
