#ifndef FP9_FLUSH
#define FP9_FLUSH
/* x, or zero of its sign where it is below 2^lowest. */
FP9_FN fp9_number fp9_flushed(fp9_number x, int lowest)
{
    if (x.kind == FP9_FINITE && x.exponent + fp9_bits(x.significand) <= lowest) {
        x.kind = FP9_ZERO;
        x.significand = 0;
    }
    return x;
}
#endif /* FP9_FLUSH */
