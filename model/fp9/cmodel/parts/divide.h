#ifndef FP9_DIVIDE
#define FP9_DIVIDE
FP9_FN int fp9_exceeds(fp9_number a, fp9_number b)
{
    int top_a = a.exponent + fp9_bits(a.significand), top_b = b.exponent + fp9_bits(b.significand);
    if (a.kind != FP9_FINITE || b.kind != FP9_FINITE) return a.kind > b.kind;
    if (top_a != top_b) return top_a > top_b;
    return a.significand << (62 - fp9_bits(a.significand)) > b.significand << (62 - fp9_bits(b.significand));
}

/* x / (divisor * 2^exponent * y), of which a 1 in the last bit stands for a remainder; the divisor times the significand
   of y is below 2^32. */
FP9_FN fp9_number fp9_quotient(fp9_number x, uint32_t divisor, int exponent, fp9_number y)
{
    uint64_t by = divisor * y.significand, lifted = x.significand << (62 - fp9_bits(x.significand));
    x.exponent -= 62 - fp9_bits(x.significand) + exponent + y.exponent;
    x.significand = lifted / by;
    if (x.significand * by != lifted) { /* two more bits, the last one for the remainder */
        x.significand = x.significand << 2 | 1;
        x.exponent -= 2;
    }
    return x;
}

/* x rounded to so many bits, ties away from zero. */
FP9_FN fp9_number fp9_to_precision(fp9_number x, int precision)
{
    fp9_cut cut = fp9_cut_at(x.significand, fp9_bits(x.significand) - precision);
    x.exponent += fp9_bits(x.significand) - precision;
    x.significand = cut.kept + (cut.rest >= (uint64_t)1 << (cut.width - 1));
    return x;
}
#endif /* FP9_DIVIDE */
