#ifndef FP9_HIF8_ORDER
#define FP9_HIF8_ORDER
/* As fp9_next: a magnitude moves by one fraction, or into the next binade. */
FP9_FN uint32_t fp9_hif8_next(uint32_t code, int direction)
{
    fp9_number x = fp9_hif8_decode(code);
    int fraction_bits, exponent = x.alignment, away = x.negative ? direction < 0 : direction > 0;
    uint32_t fraction, sign = code & 0x80;
    if (x.kind == FP9_NAN) return code;
    if (x.kind == FP9_ZERO) return direction > 0 ? 1 : 0x81;
    if (x.kind == FP9_INF) return away ? code : sign | 0x6E;
    if ((code & 0x7F) == 0x6E && away) return sign | 0x6F;
    fraction_bits = fp9_hif8_fraction_bits(exponent);
    fraction = (uint32_t)x.significand & (((uint32_t)1 << fraction_bits) - 1);
    if (away && fraction + 1 < (uint32_t)1 << fraction_bits) {
        ++fraction;
    } else if (away) {
        fraction = 0;
        fraction_bits = fp9_hif8_fraction_bits(++exponent);
    } else if (fraction) {
        --fraction;
    } else {
        fraction_bits = fp9_hif8_fraction_bits(--exponent);
        fraction = ((uint32_t)1 << fraction_bits) - 1;
    }
    if (exponent < -22) return 0;
    return sign | fp9_hif8_code(exponent, fraction, fraction_bits);
}
#endif /* FP9_HIF8_ORDER */
