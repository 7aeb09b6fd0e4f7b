#ifndef FP9_FPU
#define FP9_FPU
enum { FP9_DIVIDE_BY_ZERO = 8 };

/* What operations on codes need to know of a format. */
typedef struct {
    int bits;
    int lowest;                  /* exponent of the smallest normal number */
    int signed_zero, signed_nan; /* 0: the sign bit of zero or NaN is not free */
    uint32_t nan;                /* the canonical NaN */
    uint32_t quiet;              /* the bit that a signalling NaN does not have; 0 where no NaN signals */
} fp9_facts;

typedef struct {
    fp9_facts format;
    fp9_number number;
    uint32_t code;
    int signaling;
} fp9_operand;

FP9_FN fp9_operand fp9_operand_of(fp9_facts format, fp9_number number, uint32_t code)
{
    fp9_operand x;
    x.format = format;
    x.number = number;
    x.code = code;
    x.signaling = number.kind == FP9_NAN && format.quiet && !(code & format.quiet);
    return x;
}

/* The value of a select port; one that is too large selects the last choice. */
FP9_FN int fp9_at_most(int select, int last)
{
    return select > last ? last : select;
}

FP9_FN fp9_number fp9_with_sign(fp9_number x, int inverted)
{
    x.negative ^= inverted;
    return x;
}

FP9_FN fp9_number fp9_of_kind(int kind, int negative)
{
    fp9_number x = {FP9_ZERO, 0, 0, 0, 0};
    x.kind = kind;
    x.negative = negative;
    return x;
}

/* --- division and square root: a 1 in the last bit stands for a remainder ------------------------------------ */

FP9_FN fp9_number fp9_divided(fp9_number a, fp9_number b)
{
    int negative = a.negative ^ b.negative;
    uint64_t lifted = a.significand << 40, quotient;
    if (a.kind == FP9_NAN || b.kind == FP9_NAN) return fp9_of_kind(FP9_NAN, 0);
    if (a.kind == b.kind && a.kind != FP9_FINITE) return fp9_of_kind(FP9_UNDEFINED, 0);
    if (a.kind == FP9_INF || b.kind == FP9_ZERO) return fp9_of_kind(FP9_INF, negative);
    if (a.kind == FP9_ZERO || b.kind == FP9_INF) return fp9_of_kind(FP9_ZERO, negative);
    quotient = lifted / b.significand;
    a.significand = quotient | (quotient * b.significand != lifted);
    a.exponent -= 40 + b.exponent;
    a.negative = negative;
    return a;
}

FP9_FN fp9_number fp9_root(fp9_number a)
{
    uint64_t root = 0, bit, trial;
    int lift = 60 - fp9_bits(a.significand);
    if (a.kind == FP9_NAN || a.kind == FP9_ZERO) return a;
    if (a.negative) return fp9_of_kind(FP9_UNDEFINED, 0);
    if (a.kind == FP9_INF) return a;
    lift -= (a.exponent - lift) & 1; /* an even exponent */
    a.significand <<= lift;
    for (bit = (uint64_t)1 << 30; bit; bit >>= 1) {
        trial = root | bit;
        if (trial * trial <= a.significand) root = trial;
    }
    a.exponent = (a.exponent - lift) / 2;
    a.significand = root | (root * root != a.significand);
    return a;
}

/* --- integers (RISC-V, F extension) -------------------------------------------------------------------------- */

FP9_FN fp9_number fp9_from_integer(uint32_t word, int bits, int is_signed)
{
    uint64_t limit = (uint64_t)1 << bits, code = word & (limit - 1);
    int negative = is_signed && (code >> (bits - 1));
    fp9_number x = fp9_of_kind(code ? FP9_FINITE : FP9_ZERO, negative);
    x.significand = negative ? limit - code : code;
    return x;
}

/* The nearest integer in two's complement, or the nearest limit; NaN gives the highest integer. */
FP9_FN uint32_t fp9_to_integer(fp9_number x, int bits, int is_signed, fp9_policy p, uint32_t *flags)
{
    uint64_t highest = ((uint64_t)1 << (bits - is_signed)) - 1, lowest = is_signed ? highest + 1 : 0, limit;
    fp9_cut cut;
    *flags = 0;
    if (x.kind == FP9_ZERO) return 0;
    limit = x.negative && x.kind != FP9_NAN ? lowest : highest;
    if (x.kind == FP9_FINITE && x.exponent + fp9_bits(x.significand) <= 33) {
        cut = fp9_cut_at(x.significand, -x.exponent);
        cut.kept += (uint64_t)fp9_rounds_up(p, x.negative, (int)(cut.kept & 1), cut);
        *flags = cut.rest ? FP9_INEXACT : 0;
        if (cut.kept <= limit) return (uint32_t)(x.negative ? 0 - cut.kept : cut.kept);
    }
    *flags = FP9_INVALID;
    return (uint32_t)(limit == lowest ? 0 - limit : limit);
}

/* --- signs, order, classes ----------------------------------------------------------------------------------- */

/* The code; a zero or NaN without a sign has one code only. */
FP9_FN uint32_t fp9_canonical(fp9_operand x, uint32_t code)
{
    if (x.number.kind == FP9_ZERO && !x.format.signed_zero) return 0;
    return x.number.kind == FP9_NAN && !x.format.signed_nan ? x.format.nan : code;
}

/* a with another sign bit; c has the format of a. */
FP9_FN uint32_t fp9_signed_as(fp9_operand a, uint32_t sign_of)
{
    uint32_t sign = (uint32_t)1 << (a.format.bits - 1);
    return fp9_canonical(a, (a.code & (sign - 1)) | (sign_of & sign));
}

/* -1, 0 or 1 as a is less than, equal to or greater than c; neither is NaN, and -0 equals +0. */
FP9_FN int fp9_order(fp9_number a, fp9_number c)
{
    int side_a = a.kind == FP9_ZERO ? 0 : a.negative ? -1 : 1, side_c = c.kind == FP9_ZERO ? 0 : c.negative ? -1 : 1;
    int bits_a = fp9_bits(a.significand), bits_c = fp9_bits(c.significand);
    uint64_t lifted_a = a.significand << (62 - bits_a), lifted_c = c.significand << (62 - bits_c);
    if (side_a != side_c || !side_a) return side_a < side_c ? -1 : side_a > side_c;
    if (a.kind != c.kind) return a.kind > c.kind ? side_a : -side_a;
    if (a.kind == FP9_INF) return 0;
    if (a.exponent + bits_a != c.exponent + bits_c) return a.exponent + bits_a > c.exponent + bits_c ? side_a : -side_a;
    return lifted_a == lifted_c ? 0 : lifted_a > lifted_c ? side_a : -side_a;
}

/* minimumNumber and maximumNumber (IEEE 754-2019, section 9.6); -0 is less than +0. */
FP9_FN uint32_t fp9_extremum(fp9_operand a, fp9_operand c, int maximum, uint32_t *flags)
{
    int nan_a = a.number.kind == FP9_NAN, nan_c = c.number.kind == FP9_NAN, order, first;
    *flags = a.signaling | c.signaling ? FP9_INVALID : 0;
    if (nan_a && nan_c) return a.format.nan;
    if (nan_a || nan_c) return nan_a ? fp9_canonical(c, c.code) : fp9_canonical(a, a.code);
    order = fp9_order(a.number, c.number);
    first = order < 0 || (order == 0 && a.number.negative);
    return first != maximum ? fp9_canonical(a, a.code) : fp9_canonical(c, c.code);
}

/* Whether a comparison holds; loud: every NaN raises `invalid`, not only a signalling one. */
FP9_FN uint32_t fp9_compared(fp9_operand a, fp9_operand c, int if_less, int if_equal, int loud, uint32_t *flags)
{
    int unordered = a.number.kind == FP9_NAN || c.number.kind == FP9_NAN, order;
    *flags = a.signaling || c.signaling || (loud && unordered) ? FP9_INVALID : 0;
    if (unordered) return 0;
    order = fp9_order(a.number, c.number);
    return (uint32_t)((order < 0 && if_less) || (order == 0 && if_equal));
}

/* The class mask of RISC-V's FCLASS. */
FP9_FN uint32_t fp9_classified(fp9_operand a)
{
    int tiny = a.number.exponent + fp9_bits(a.number.significand) <= a.format.lowest;
    int away = a.number.kind == FP9_INF ? 3 : a.number.kind == FP9_ZERO ? 0 : tiny ? 1 : 2;
    if (a.number.kind == FP9_NAN) return a.signaling ? 1 << 8 : 1 << 9;
    return (uint32_t)1 << (a.number.negative ? 3 - away : 4 + away);
}
#endif /* FP9_FPU */
