#ifndef FP9_ALIGN
#define FP9_ALIGN
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
#endif /* FP9_ALIGN */
