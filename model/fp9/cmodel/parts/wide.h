#ifndef FP9_WIDE
#define FP9_WIDE
/* x added to a two's complement number of `limbs` words, the first one lowest, in units of 2^weight. */
FP9_FN void fp9_wide_add(uint64_t *sum, int limbs, int weight, fp9_number x)
{
    int place = x.exponent - weight, first = place / 64, shift = place % 64, i;
    uint64_t low = x.significand << shift, high = shift ? x.significand >> (64 - shift) : 0, part, carry = 0, total;
    for (i = first; i < limbs; ++i) {
        part = i == first ? low : i == first + 1 ? high : 0;
        total = x.negative ? sum[i] - part - carry : sum[i] + part + carry;
        carry = x.negative ? sum[i] < part || (carry && sum[i] == part) : total < part || (carry && total == part);
        sum[i] = total;
    }
}

/* A word of the magnitude; `tail` is the first word that is not 0. */
FP9_FN uint64_t fp9_wide_word(const uint64_t *sum, int word, int tail, int negative)
{
    if (word < tail || !negative) return word < 0 ? 0 : sum[word];
    return word == tail ? 0 - sum[word] : ~sum[word];
}

/* The number that the words hold, of which a 1 in the last of 62 bits stands for what is below; zero without a sign. */
FP9_FN fp9_number fp9_wide_number(const uint64_t *sum, int limbs, int weight)
{
    fp9_number x = {FP9_ZERO, 0, 0, 0, 0};
    uint64_t high, low;
    int negative = (int)(sum[limbs - 1] >> 63), tail = 0, place = limbs - 1, shift;
    while (tail < limbs && !sum[tail]) ++tail;
    if (tail == limbs) return x;
    while (!fp9_wide_word(sum, place, tail, negative)) --place;
    high = fp9_wide_word(sum, place, tail, negative);
    low = fp9_wide_word(sum, place - 1, tail, negative);
    shift = 64 - fp9_bits(high);
    if (shift) high = high << shift | low >> (64 - shift);
    low = (shift ? low << shift : low) | (uint64_t)(tail < place - 1);
    x.kind = FP9_FINITE;
    x.negative = negative;
    x.significand = fp9_shift_sticky(high, 2) | (low != 0);
    x.exponent = weight + 64 * place - shift + 2;
    return x;
}
#endif /* FP9_WIDE */
