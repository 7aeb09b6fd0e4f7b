#ifndef FP9_ORDER
#define FP9_ORDER
/* Classes of IEEE 754-2019, 5.7.2, with one class of NaN. */
enum {
    FP9_CLASS_NAN, FP9_NEGATIVE_INFINITY, FP9_NEGATIVE_NORMAL, FP9_NEGATIVE_SUBNORMAL, FP9_NEGATIVE_ZERO,
    FP9_POSITIVE_ZERO, FP9_POSITIVE_SUBNORMAL, FP9_POSITIVE_NORMAL, FP9_POSITIVE_INFINITY
};

/* The class of a number; subnormal is what lies below 2^lowest. */
FP9_FN int fp9_class(fp9_number x, int lowest)
{
    int size = x.kind == FP9_ZERO ? 0 : x.kind == FP9_INF ? 3 : x.exponent + fp9_bits(x.significand) <= lowest ? 1 : 2;
    if (x.kind == FP9_NAN) return FP9_CLASS_NAN;
    return x.negative ? FP9_NEGATIVE_ZERO - size : FP9_POSITIVE_ZERO + size;
}

/* The code of the next larger number (direction 1) or the next smaller one (-1). NaN stays; beyond the largest number
   comes infinity, or where there is none the largest number stays. */
FP9_FN uint32_t fp9_next(fp9_layout f, uint32_t code, int direction)
{
    fp9_number x = fp9_decode(f, code);
    int64_t top = f.infinity < 0 ? f.largest : f.infinity, magnitude;
    uint32_t sign = f.is_signed ? (uint32_t)1 << (f.bits - 1) : 0;
    if (x.kind == FP9_NAN) return code;
    magnitude = x.negative && f.twos_complement ? 2 * (int64_t)sign - code : (int64_t)(sign ? code & (sign - 1) : code);
    magnitude = ((code & sign) ? -(magnitude >> f.padding) : magnitude >> f.padding) + direction;
    if (magnitude > top) magnitude = top;
    if (magnitude < (f.is_signed ? -top : 0)) magnitude = f.is_signed ? -top : 0;
    if (magnitude == 0) return fp9_signed_code(f, 0, x.negative);
    return fp9_signed_code(f, (uint32_t)(magnitude < 0 ? -magnitude : magnitude), magnitude < 0);
}
#endif /* FP9_ORDER */
