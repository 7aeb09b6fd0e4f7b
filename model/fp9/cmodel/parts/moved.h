#ifndef FP9_MOVED
#define FP9_MOVED
/* A number of a format whose exponents are all higher by `up`. */
FP9_FN fp9_number fp9_moved(fp9_layout f, uint32_t code, int up)
{
    f.lowest += up;
    return fp9_decode(f, code);
}
#endif /* FP9_MOVED */
