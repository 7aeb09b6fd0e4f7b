/* What the page shows of one rounding: the terms, then the addend, and what the window keeps of them. */
enum { OUTSIDE, ALIGNED, INSIDE };
enum { NO_TOP = -100000 };
typedef struct {
    int width, cut, addend, zero_exponent; /* width -1: no window to show */
} step_window;
typedef struct {
    int joins, count, top;
    uint32_t code;
    fp9_number term[@{terms}], kept[@{terms}];
} step_record;

static const step_window windows[] = {
@{windows}
};
static step_record record[@{records}];
static step_window window;
static int records;

static fp9_number within(fp9_number x, int weight)
{
    int dropped = 0;
    return x.significand && x.exponent < weight ? fp9_integer(fp9_align(x, weight, window.cut, &dropped), weight) : x;
}

static void observe(int joins, const fp9_number *term, int count, fp9_number addend, uint32_t code)
{
    step_record *r = &record[records++];
    int i, special = 0, last = window.addend == INSIDE ? count : count - 1;
    r->joins = joins;
    r->count = count + 1;
    r->top = NO_TOP;
    r->code = code;
    for (i = 0; i <= count; ++i) {
        r->term[i] = i < count ? term[i] : addend;
        special |= r->term[i].kind > FP9_FINITE;
    }
    if (joins || special || window.width < 0) return;
    for (i = 0; i <= last; ++i) {
        int top = r->term[i].kind == FP9_FINITE ? r->term[i].alignment : window.zero_exponent;
        if (top > r->top) r->top = top;
    }
    if (r->top == NO_TOP) return;
    for (i = 0; i < count; ++i) r->kept[i] = within(r->term[i], r->top - window.width);
    r->kept[count] = window.addend == OUTSIDE ? addend : within(addend, r->top - window.width);
}
