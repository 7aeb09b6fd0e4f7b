/* Exports of the explorer's WebAssembly module. The page reads results from `result` and `record`. */
#define EXPORT(name) __attribute__((export_name(#name), used)) name

static fp9_number operand[2][@{longest}], result;
static uint8_t element[@{longest}];
static uint32_t raised;

/* Compilers call these two functions for structs. */
void *memset(void *to, int value, unsigned long size)
{
    char *byte = to;
    while (size--) *byte++ = (char)value;
    return to;
}

void *memcpy(void *to, const void *from, unsigned long size)
{
    char *byte = to;
    const char *source = from;
    while (size--) *byte++ = *source++;
    return to;
}

static fp9_number number_of(int format, uint32_t code)
{
    switch (format) {
@{decodes}
    }
}

uint32_t EXPORT(encode)(
    int format, int kind, int negative, int exponent, uint64_t significand, int rounding, int overflow, uint32_t random,
    int random_bits, int nan_to_zero)
{
    fp9_policy p = fp9_policy_of(rounding, overflow);
    fp9_number x = {0, 0, 0, 0, 0};
    x.kind = kind;
    x.negative = negative;
    x.exponent = exponent;
    x.significand = significand;
    p.random = random;
    p.random_bits = random_bits;
    p.nan_to_zero = nan_to_zero;
    switch (format) {
@{encodes}
    }
}

uint32_t EXPORT(flags)(void)
{
    return raised;
}

const fp9_number *EXPORT(decode)(int format, uint32_t code)
{
    result = number_of(format, code);
    return &result;
}

void EXPORT(set)(int side, int index, int format, uint32_t code)
{
    operand[side][index] = number_of(format, code);
}

/* An exact sum is one rounding of all products. */
static uint32_t all_at_once(int count, fp9_number c, uint32_t code)
{
    fp9_number term[@{most}];
    int i;
    for (i = 0; i < count; ++i) term[i] = fp9_product(operand[0][i], operand[1][i]);
    observe(0, term, count, c, code);
    return code;
}

/* The code of C plus the products of the operands, which `set` has given. Fills `record`. */
uint32_t EXPORT(sum)(int engine, int count, uint32_t c)
{
    const fp9_number *a = operand[0], *b = operand[1];
    records = 0;
    window = windows[engine];
    switch (engine) {
@{sums}
    }
}

int EXPORT(recorded)(void)
{
    return records;
}

const step_record *EXPORT(step)(int index)
{
    return &record[index];
}

int EXPORT(record_bytes)(void)
{
    return (int)sizeof(step_record);
}

/* The code of the scale of a block, which `set` has given as the first operands. Fills `element`. */
uint32_t EXPORT(quantise)(int block, int rule, uint32_t tensor)
{
    const fp9_number *x = operand[0], whole = fp9_fp32_decode(tensor);
    switch (block) {
@{blocks}
    }
}

const uint8_t *EXPORT(elements)(void)
{
    return element;
}

/* The FP32 code of the scale of a whole tensor with a largest magnitude. */
uint32_t EXPORT(tensor_scale)(int block, int rule, uint32_t largest)
{
    const fp9_number amax = fp9_fp32_decode(largest);
    switch (block) {
@{tensors}
    }
}
