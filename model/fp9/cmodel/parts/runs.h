#ifndef FP9_RUNS
#define FP9_RUNS
/* The signs of the infinities that stand among products: 1 a positive one, 2 a negative one, 3 both (NaN). Those of
   opposite signs cancel within a run, so that one more of them stands. */
FP9_FN int fp9_standing_infinities(const fp9_number *term, int count, int run)
{
    int i, standing = 0;
    for (i = 0; i < count; ++i) {
        if (standing == 3 && i % run == 0) break;
        if (term[i].kind == FP9_INF) standing = standing == (term[i].negative ? 1 : 2) ? 3 : term[i].negative ? 2 : 1;
    }
    return standing;
}
#endif /* FP9_RUNS */
