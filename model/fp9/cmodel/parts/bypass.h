#ifndef FP9_BYPASS
#define FP9_BYPASS
/* NaN-Inf is marked by a significand, so that 0 * NaN-Inf is 0. */
FP9_FN fp9_number fp9_merged(fp9_number x)
{
    if (x.kind == FP9_NAN) x.significand = 1;
    return x;
}

FP9_FN fp9_number fp9_bypassed_product(fp9_number a, fp9_number b)
{
    fp9_number zero = {FP9_ZERO, 0, 0, 0, 0};
    int bypassed = (a.kind == FP9_ZERO && b.kind == FP9_NAN && b.significand == 1) ||
                   (b.kind == FP9_ZERO && a.kind == FP9_NAN && a.significand == 1);
    return bypassed ? zero : fp9_product(a, b);
}
#endif /* FP9_BYPASS */
