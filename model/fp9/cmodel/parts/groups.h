#ifndef FP9_GROUPS
#define FP9_GROUPS
/* The exact sum of a group of products times its scale, aligned with the scale alone; a group of zeros counts as zero. */
FP9_FN fp9_number fp9_group(int64_t sum, int weight, int zeros, fp9_number scale)
{
    fp9_number x = fp9_product(fp9_integer(sum, weight), scale), zero = {FP9_ZERO, 0, 0, 0, 0};
    if (zeros && scale.kind != FP9_NAN) return zero;
    if (!sum && scale.kind == FP9_FINITE) x.kind = FP9_FINITE;
    x.alignment = scale.alignment;
    return x;
}
#endif /* FP9_GROUPS */
