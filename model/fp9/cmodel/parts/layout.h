#ifndef FP9_LAYOUT
#define FP9_LAYOUT
FP9_FN fp9_number fp9_decode(fp9_layout f, uint32_t code)
{
    fp9_number x = {FP9_FINITE, 0, 0, 0, 0};
    uint32_t sign = f.is_signed ? (uint32_t)1 << (f.bits - 1) : 0, hidden = (uint32_t)1 << f.fraction_bits;
    uint32_t magnitude, field;
    code &= sign ? 2 * sign - 1 : (uint32_t)(((uint64_t)1 << f.bits) - 1);
    x.negative = (code & sign) != 0;
    magnitude = (f.twos_complement && x.negative ? 2 * sign - code : sign ? code & (sign - 1) : code) >> f.padding;
    field = magnitude >> f.fraction_bits;
    x.exponent = f.lowest - f.fraction_bits;
    x.significand = magnitude & (hidden - 1);
    if (field || !f.subnormals) {
        x.exponent += (int)field - f.subnormals;
        x.significand |= hidden;
    }
    x.alignment = x.exponent + f.aligned;
    if (magnitude > (uint32_t)f.largest && !f.twos_complement) {
        x.kind = (int64_t)magnitude == f.infinity ? FP9_INF : FP9_NAN;
        x.significand = (uint64_t)(magnitude & (hidden - 1)) << (23 - f.fraction_bits);
        if (x.kind == FP9_NAN && !f.signed_zero) x.negative = 0;
    } else if (magnitude == 0 && f.has_zero) {
        x.kind = f.nan_at_zero && x.negative ? FP9_NAN : FP9_ZERO;
        x.significand = 0;
        if (!f.signed_zero) x.negative = 0;
    }
    return x;
}

/* The code of a magnitude and a sign. */
FP9_FN uint32_t fp9_signed_code(fp9_layout f, uint32_t magnitude, int negative)
{
    uint32_t sign = f.is_signed ? (uint32_t)1 << (f.bits - 1) : 0, code = magnitude << f.padding;
    if (!negative || (magnitude == 0 && !f.signed_zero)) return code;
    return f.twos_complement ? (2 * sign - code) & (2 * sign - 1) : code | sign;
}

FP9_FN uint32_t fp9_nan(fp9_layout f, fp9_policy p, int negative)
{
    uint32_t code = (uint32_t)(p.nan < 0 ? f.nan : p.nan);
    if (p.nan_to_zero || f.nan < 0) return 0;
    return negative ? code ^ (uint32_t)f.nan_sign : code;
}

/* Infinity, or the NaN that stands for it. */
FP9_FN uint32_t fp9_beyond(fp9_layout f, fp9_policy p, int negative)
{
    if (f.infinity >= 0 && (f.is_signed || !negative)) return fp9_signed_code(f, (uint32_t)f.infinity, negative);
    return fp9_nan(f, p, negative && p.nan_sign != FP9_SIGN_LOST);
}

/* The largest number of a sign; zero where that is the lowest. */
FP9_FN uint32_t fp9_last(fp9_layout f, int negative)
{
    return negative && !f.is_signed ? 0 : fp9_signed_code(f, (uint32_t)f.largest, negative);
}

/* Whether finite numbers beyond the largest become it. */
FP9_FN int fp9_saturates(fp9_layout f, fp9_policy p, int negative)
{
    int inward = p.rounding == FP9_RTZ || p.rounding == (negative ? FP9_RUP : FP9_RDN);
    if (p.overflow == FP9_SATURATE || p.overflow == FP9_PROPAGATE || (f.infinity < 0 && f.nan < 0)) return 1;
    if (p.overflow == FP9_TO_INF) return 0;
    if (p.overflow == FP9_DIRECTED || inward) return inward;
    if (negative && !f.is_signed) return 0;
    return (p.rounding == FP9_RTO && !negative && (((uint64_t)f.largest << f.padding) & 1)) || f.infinity < 0;
}

/* Whether infinities become the largest number. */
FP9_FN int fp9_clips(fp9_layout f, fp9_policy p, int negative)
{
    int exists = f.infinity >= 0 && (f.is_signed || !negative);
    if (p.overflow == FP9_SATURATE || (f.infinity < 0 && f.nan < 0)) return 1;
    if (p.overflow == FP9_PROPAGATE) return !exists;
    return p.overflow == FP9_SAT_NONE && !exists && (f.is_signed || !negative);
}

/* What every format does with numbers that are not finite, and with those that have no place in it. */
FP9_FN uint32_t fp9_encode_special(fp9_layout f, fp9_number x, fp9_policy p, uint32_t *flags)
{
    uint32_t code;
    int negative = x.negative && p.nan_sign == FP9_SIGN_KEPT;
    *flags = 0;
    if (x.kind == FP9_NAN) {
        if (p.nan_to_zero || f.nan < 0) *flags = FP9_INVALID;
        if (p.payload == FP9_PAYLOAD_LOST || f.infinity < 0) return fp9_nan(f, p, negative);
        code = (uint32_t)(x.significand >> (23 - f.fraction_bits));
        if (p.payload == FP9_PAYLOAD_QUIETED || !code) code |= (uint32_t)1 << (f.fraction_bits - 1);
        return fp9_signed_code(f, (uint32_t)f.infinity | code, negative);
    }
    if (x.kind == FP9_ZERO && f.has_zero) return fp9_signed_code(f, 0, x.negative);
    if (x.kind == FP9_INF && (!x.negative || f.is_signed || f.ends_at_zero)) {
        if (p.overflow == FP9_SATURATE && f.nan_at_zero == 2 && !p.inf_clip) {
            *flags = FP9_INVALID;
            return fp9_nan(f, p, negative);
        }
        code = fp9_clips(f, p, x.negative) ? fp9_last(f, x.negative) : fp9_beyond(f, p, x.negative);
        if (f.infinity < 0 || code != fp9_signed_code(f, (uint32_t)f.infinity, x.negative)) *flags = FP9_INVALID;
        return code;
    }
    *flags = FP9_INVALID; /* zero or a negative number, and there is none */
    return fp9_nan(f, p, negative);
}

/* A magnitude on a format's grid, with its exponent unbounded above. */
typedef struct {
    uint64_t code;
    int inexact, tiny, beyond; /* beyond: larger than the largest number */
} fp9_rounded;

/* The code, the overflow policy applied. */
FP9_FN uint32_t fp9_finish(fp9_layout f, fp9_number x, fp9_policy p, fp9_rounded r, uint32_t *flags)
{
    if (r.beyond || (r.code && x.negative && !f.is_signed)) {
        *flags = FP9_OVERFLOW | FP9_INEXACT;
        return fp9_saturates(f, p, x.negative) ? fp9_last(f, x.negative) : fp9_beyond(f, p, x.negative);
    }
    *flags = (r.inexact ? FP9_INEXACT : 0) | (r.inexact && r.tiny ? FP9_UNDERFLOW : 0);
    return fp9_signed_code(f, (uint32_t)r.code, x.negative);
}

/* Whether a number just below the normal ones stays there when it is rounded to full precision. */
FP9_FN int fp9_tiny(fp9_layout f, fp9_number x, fp9_policy p, int exponent)
{
    fp9_cut cut = fp9_cut_at(x.significand, exponent - f.fraction_bits - x.exponent);
    int odd = f.fraction_bits ? (int)(cut.kept & 1) : (exponent - f.lowest + 1) & 1;
    return cut.kept + (uint64_t)fp9_rounds_up(p, x.negative, odd, cut) < (uint64_t)2 << f.fraction_bits;
}

FP9_FN fp9_rounded fp9_round(fp9_layout f, fp9_number x, fp9_policy p)
{
    fp9_rounded r = {0, 0, 0, 0};
    uint64_t hidden = f.subnormals ? 0 : (uint64_t)1 << f.fraction_bits, base;
    int exponent = x.exponent + fp9_bits(x.significand) - 1;
    int binade = exponent > f.lowest ? exponent : f.lowest, below = binade - exponent, up;
    fp9_cut cut = fp9_cut_at(x.significand, binade - f.fraction_bits - x.exponent), normal;
    base = (uint64_t)(uint32_t)(binade - f.lowest) << f.fraction_bits;
    up = fp9_rounds_up(p, x.negative, (int)((base + cut.kept - hidden) & 1), cut);
    r.inexact = cut.rest != 0;
    if (f.subnormals) {
        if (p.rounding == FP9_BIAS && below) { /* rounded as a normal number, then cut */
            normal = fp9_cut_at(x.significand, exponent - f.fraction_bits - x.exponent);
            cut.kept = normal.kept + (uint64_t)fp9_rounds_up(p, x.negative, 0, normal);
            cut.kept = below > 63 ? 0 : cut.kept >> below;
            up = 0;
        }
        r.code = base + cut.kept + (uint64_t)up;
        r.tiny = f.underflows && (below > 1 || (below == 1 && r.inexact && fp9_tiny(f, x, p, exponent)));
    } else if (!f.has_zero) { /* below the smallest number there is nothing */
        r.code = below ? 0 : base + cut.kept + (uint64_t)up - hidden;
        r.inexact |= below != 0;
        r.tiny = below != 0;
    } else { /* the place of the lowest power of two is that of zero */
        r.tiny = below || base + cut.kept + (uint64_t)up == hidden;
        r.inexact |= r.tiny;
        r.code = r.tiny ? 0 : base + cut.kept + (uint64_t)up - hidden;
        if (r.tiny && (p.rounding == FP9_RTO || p.rounding == (x.negative ? FP9_RDN : FP9_RUP))) r.code = 1;
    }
    r.beyond = r.code > (uint64_t)f.largest;
    return r;
}

FP9_FN uint32_t fp9_encode(fp9_layout f, fp9_number x, fp9_policy p, uint32_t *flags)
{
    int no_place = x.kind != FP9_FINITE || (x.negative && !f.is_signed && !f.ends_at_zero);
    return no_place ? fp9_encode_special(f, x, p, flags) : fp9_finish(f, x, p, fp9_round(f, x, p), flags);
}
#endif /* FP9_LAYOUT */
