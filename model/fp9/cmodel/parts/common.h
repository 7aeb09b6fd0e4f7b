#ifndef FP9_COMMON
#define FP9_COMMON
#if defined(__OPENCL_VERSION__) /* OpenCL C has these types under names of its own */
typedef uchar uint8_t; typedef ushort uint16_t; typedef uint uint32_t; typedef ulong uint64_t;
typedef int int32_t; typedef long int64_t;
#else
#include <stdint.h>
#endif
#if defined(FP9_FN) /* given by the program */
#elif defined(__CUDACC__) || defined(__HIPCC__)
#define FP9_FN static inline __host__ __device__
#elif defined(__GNUC__) && !defined(__OPENCL_VERSION__)
#define FP9_FN static inline __attribute__((always_inline, unused))
#else
#define FP9_FN static inline
#endif

enum { FP9_ZERO, FP9_FINITE, FP9_INF, FP9_NAN, FP9_UNDEFINED }; /* what a number is; undefined: NaN of inf * 0 */
enum { FP9_INEXACT = 1, FP9_UNDERFLOW = 2, FP9_OVERFLOW = 4, FP9_INVALID = 16 }; /* flags, as RISC-V fflags */
enum { FP9_RNE, FP9_RNA, FP9_RTZ, FP9_RUP, FP9_RDN, FP9_RTO, FP9_SR, FP9_HYBRID, FP9_SRB, FP9_SRC, FP9_BIAS };
enum { FP9_SATURATE, FP9_TO_INF, FP9_DIRECTED, FP9_PROPAGATE, FP9_SAT_NONE }; /* what overflow becomes */
enum { FP9_SIGN_KEPT, FP9_SIGN_OVERFLOW, FP9_SIGN_LOST }; /* which results that are NaN keep a sign */
enum { FP9_PAYLOAD_LOST, FP9_PAYLOAD_QUIETED, FP9_PAYLOAD_KEPT };

/* A number without rounding: (-1)^negative * significand * 2^exponent. */
typedef struct {
    int kind, negative;
    int exponent;         /* weight of the significand's last bit */
    int alignment;        /* exponent with which a window of an accumulator aligns the number */
    uint64_t significand; /* below 2^62; of NaN its payload in units of 2^-23 */
} fp9_number;

/* What decides a conversion besides its source and target. */
typedef struct {
    int rounding, overflow;
    int nan_to_zero, inf_clip; /* inf_clip: infinity saturates where the only NaN is the code of -0, too */
    int nan_sign, payload;
    int64_t nan;              /* code of a NaN without a sign, -1 for the format's own */
    uint32_t random;          /* sr, srb, src, bias: the random integer; hybrid: the threshold */
    int random_bits;          /* width of `random` */
    int strict, doc_overflow; /* hybrid: up where F > T; below 1.5 * 2^15 no certain overflow */
    int flush_source;         /* subnormal FP32 numbers count as zero of their sign */
} fp9_policy;

/* The fields of a format; magnitudes are codes without sign and padding. */
typedef struct {
    int bits, fraction_bits, padding;
    int lowest;     /* exponent of the lowest binade with a full significand */
    int subnormals; /* 0: codes of exponent field 0 are an ordinary binade */
    int is_signed, has_zero, signed_zero, ends_at_zero, twos_complement, underflows;
    int64_t largest, infinity; /* magnitudes; infinity is -1 where there is none */
    int64_t nan, nan_sign;     /* code of the positive NaN, -1 for none; the bit that makes it negative */
    int nan_at_zero;           /* the code of -0 is NaN: 1, and infinity under saturation becomes NaN: 2 */
    int aligned;               /* alignment of a number above the weight of its last bit */
} fp9_layout;

/* Bits of x up to its leading 1; 0 for 0. */
FP9_FN int fp9_bits(uint64_t x)
{
#if defined(__OPENCL_VERSION__)
    return 64 - (int)clz(x);
#elif defined(__CUDA_ARCH__)
    return 64 - __clzll((long long)x);
#elif defined(__GNUC__) && !defined(FP9_PORTABLE)
    return x ? 64 - __builtin_clzll(x) : 0;
#else
    int bits = 0, step;
    for (step = 32; step; step >>= 1) {
        if (x >> step) bits += step;
        if (x >> step) x >>= step;
    }
    return bits + (x != 0);
#endif
}

/* x divided by 2^shift, of which a 1 in the last bit stands for what is lost. */
FP9_FN uint64_t fp9_shift_sticky(uint64_t x, int shift)
{
    if (shift <= 0) return x;
    if (shift > 63) return x != 0;
    return x >> shift | ((x & (((uint64_t)1 << shift) - 1)) != 0);
}

/* A significand cut at a weight: what is kept, and the `width` bits below. */
typedef struct {
    uint64_t kept, rest;
    int width;
} fp9_cut;

FP9_FN fp9_cut fp9_cut_at(uint64_t significand, int shift)
{
    fp9_cut cut;
    cut.width = shift > 62 ? 62 : shift > 0 ? shift : 1;
    cut.kept = shift > 62 ? 0 : shift > 0 ? significand >> shift : significand << -shift;
    cut.rest = significand & (((uint64_t)1 << cut.width) - 1);
    if (shift <= 0) cut.rest = 0;
    if (shift > 62) cut.rest = fp9_shift_sticky(significand, shift - 62);
    return cut;
}

/* The first `count` bits of the rest of a cut. */
FP9_FN uint64_t fp9_first_bits(fp9_cut cut, int count)
{
    return count <= cut.width ? cut.rest >> (cut.width - count) : cut.rest << (count - cut.width);
}

/* Whether a magnitude becomes the larger one of its two neighbours; `odd`: the code of the smaller one is odd. */
FP9_FN int fp9_rounds_up(fp9_policy p, int negative, int odd, fp9_cut cut)
{
    uint64_t middle = (uint64_t)1 << (cut.width - 1), one = (uint64_t)1 << p.random_bits, first, low;
    switch (p.rounding) {
    case FP9_RNE: return cut.rest > middle || (cut.rest == middle && odd);
    case FP9_RTZ: return 0;
    case FP9_RUP: return cut.rest != 0 && !negative;
    case FP9_RDN: return cut.rest != 0 && negative;
    case FP9_RTO: return cut.rest != 0 && !odd;
    case FP9_SR:
    case FP9_BIAS: return fp9_first_bits(cut, p.random_bits) + p.random >= one;
    case FP9_SRB: return fp9_first_bits(cut, p.random_bits + 1) + 2 * (uint64_t)p.random + 1 >= 2 * one;
    case FP9_SRC: /* the random bits are added to the first bits, rounded to nearest even */
        first = fp9_first_bits(cut, p.random_bits);
        if (cut.width > p.random_bits) {
            middle = (uint64_t)1 << (cut.width - p.random_bits - 1);
            low = cut.rest & (2 * middle - 1);
            first += low > middle || (low == middle && (first & 1));
        }
        return first + p.random >= one;
    default: return cut.rest >= middle; /* rna, and hybrid for formats other than hif8 */
    }
}

FP9_FN fp9_policy fp9_policy_of(int rounding, int overflow)
{
    fp9_policy p = {0, 0, 0, 0, 0, 0, -1, 0, 16, 0, 0, 0};
    p.rounding = rounding;
    p.overflow = overflow;
    return p;
}
#endif /* FP9_COMMON */
