#ifndef FP9_HIF8
#define FP9_HIF8
/* hif8: sign, prefix code, exponent in sign-magnitude with a hidden 1, fraction (arXiv 2409.16626, section 2).
   Fraction bits: 3 for |E| <= 3, 2 for 4..7, 1 for 8..15; the denormals are 2^(M - 23), M = 1..7. */
FP9_FN fp9_number fp9_hif8_decode(uint32_t code)
{
    fp9_number x = {FP9_FINITE, 0, 0, 0, 0};
    uint32_t magnitude = code & 0x7F;
    int exponent_bits = magnitude >= 96 ? 4 : magnitude >= 64 ? 3 : magnitude >= 32 ? 2 : magnitude >= 16 ? 1 : 0;
    int fraction_bits = exponent_bits == 4 ? 1 : exponent_bits == 3 ? 2 : 3, exponent = 0;
    uint32_t field = (magnitude >> fraction_bits) & (((uint32_t)1 << exponent_bits) - 1), hidden;
    x.negative = (code & 0x80) != 0;
    if (exponent_bits) {
        hidden = (uint32_t)1 << (exponent_bits - 1);
        exponent = field & hidden ? -(int)field : (int)(field | hidden);
    }
    if (magnitude < 8) {
        exponent = (int)magnitude - 23;
        fraction_bits = 0;
    }
    hidden = (uint32_t)1 << fraction_bits;
    x.significand = hidden | (magnitude & (hidden - 1));
    x.exponent = exponent - fraction_bits;
    x.alignment = exponent;
    if (magnitude == 0x6F) x.kind = FP9_INF;
    if (magnitude == 0) {
        x.kind = x.negative ? FP9_NAN : FP9_ZERO;
        x.negative = 0;
    }
    if (x.kind != FP9_FINITE) x.significand = 0;
    return x;
}

FP9_FN int fp9_hif8_fraction_bits(int exponent)
{
    int size = exponent < 0 ? -exponent : exponent;
    return exponent < -15 ? 0 : size < 4 ? 3 : size < 8 ? 2 : 1;
}

/* Hybrid rounding (section 3.2): ties away near 1; elsewhere up where the first bits F below the last place reach T. */
FP9_FN int fp9_hif8_hybrid_up(fp9_number x, fp9_policy p, int exponent, fp9_cut cut)
{
    uint64_t field = fp9_first_bits(cut, p.random_bits);
    int bits = fp9_bits(x.significand); /* 40960 = 1.25 * 2^15 */
    int certain = exponent > 15 || (exponent == 15 && x.significand << 2 >> (bits - 1) >= 5);
    if (exponent > -4 && exponent < 4) return cut.rest >= (uint64_t)1 << (cut.width - 1);
    if (exponent < -23) return 0;
    if (certain && !p.doc_overflow) return 1;
    return p.strict ? field > p.random : field >= p.random;
}

/* A cut of x at the last place of hif8's numbers at `exponent`, and whether it is rounded up. */
FP9_FN int fp9_hif8_up(fp9_number x, fp9_policy p, int exponent, fp9_cut cut)
{
    int odd = exponent < -22 ? 0 : exponent < -15 ? (exponent + 23) & 1 : (int)(cut.kept & 1);
    return p.rounding == FP9_HYBRID ? fp9_hif8_hybrid_up(x, p, exponent, cut) : fp9_rounds_up(p, x.negative, odd, cut);
}

/* The code of (2^fraction_bits + fraction) * 2^(exponent - fraction_bits). */
FP9_FN uint32_t fp9_hif8_code(int exponent, uint32_t fraction, int fraction_bits)
{
    uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent), prefix, field;
    int exponent_bits = fp9_bits(size);
    if (exponent < -15) return (uint32_t)(exponent + 23);
    if (!exponent_bits) return 8 | fraction;
    prefix = exponent_bits == 1 ? 1 : (uint32_t)exponent_bits - 1;
    field = size ^ (exponent < 0 ? 0 : (uint32_t)1 << (exponent_bits - 1));
    return (prefix << exponent_bits | field) << fraction_bits | fraction;
}

FP9_FN fp9_rounded fp9_hif8_round(fp9_number x, fp9_policy p)
{
    fp9_rounded r = {0, 0, 0, 0};
    int exponent = x.exponent + fp9_bits(x.significand) - 1, binade = exponent > -22 ? exponent : -22, up;
    int fraction_bits = fp9_hif8_fraction_bits(binade);
    fp9_cut cut = fp9_cut_at(x.significand, binade - fraction_bits - x.exponent);
    up = fp9_hif8_up(x, p, exponent, cut);
    cut.kept += (uint64_t)up;
    r.inexact = up || cut.rest;
    r.tiny = exponent < -16;
    if (exponent == -16) { /* with the precision of a normal number, two binades further up */
        fp9_cut normal = fp9_cut_at(x.significand, -17 - x.exponent);
        r.tiny = normal.kept + (uint64_t)fp9_hif8_up(x, p, -14, normal) < 4;
    }
    if (!cut.kept) return r;
    if (cut.kept >> (fraction_bits + 1)) {
        cut.kept = 0;
        fraction_bits = fp9_hif8_fraction_bits(++binade);
    }
    cut.kept &= ((uint64_t)1 << fraction_bits) - 1;
    r.beyond = binade > 15 || (binade == 15 && cut.kept);
    r.code = r.beyond ? 0x6F : fp9_hif8_code(binade, (uint32_t)cut.kept, fraction_bits);
    return r;
}

FP9_FN uint32_t fp9_hif8_encode(fp9_number x, fp9_policy p, uint32_t *flags)
{
    fp9_layout f = {8, 3, 0, -15, 1, 1, 1, 0, 0, 0, 1, 0x6E, 0x6F, 0x80, 0, 1, 3};
    return x.kind != FP9_FINITE ? fp9_encode_special(f, x, p, flags) : fp9_finish(f, x, p, fp9_hif8_round(x, p), flags);
}
#endif /* FP9_HIF8 */
