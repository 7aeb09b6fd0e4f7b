#ifndef FP9_ADD
#define FP9_ADD
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
#endif /* FP9_ADD */
