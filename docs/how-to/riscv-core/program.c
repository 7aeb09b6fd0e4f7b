// Program for the core: checks each instruction of the coprocessor, then measures clocks of dot products.
#include <stdint.h>

#include "operations.h"

#define CHARACTER (*(volatile uint32_t *)0x10000000)
#define STATUS (*(volatile uint32_t *)0x10000004)
#define HANDLED (*(volatile uint32_t *)0x10000008)

#define FORMAT_FP16 2
#define FORMAT_FP32 4
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
// rd = a * b + c, with a and b in E4M3, c and rd in FORMAT
#define E4M3_FMADD(FORMAT, c, a, b) \
  __asm__(".insn r4 0x0b, " TEXT(FORMAT) ", 0, %0, %1, %2, %0" : "+r"(c) : "r"(a), "r"(b))

void main(void);

__attribute__((section(".text.start"), naked)) void _start(void) {
  __asm__("j 1f\n"
          ".balign 128\n"
          "j interrupted\n"  // mtvec is 0x80
          "1: la sp, 0x40000\n"
          "li t0, 0x80\n"
          "csrw mtvec, t0\n"
          "csrw mcountinhibit, zero\n"
          "li t0, 0x80\n"
          "csrw mie, t0\n"
          "csrsi mstatus, 8\n"
          "call main\n"
          "2: j 2b\n");
}

static volatile uint32_t rejected;  // instructions that neither the core nor the coprocessor accepted

__attribute__((interrupt, used)) void interrupted(void) {
  uint32_t cause, address;
  __asm__ volatile("csrr %0, mcause\n csrr %1, mepc" : "=r"(cause), "=r"(address));
  if (cause == 0x80000007) {
    HANDLED = 1;
  } else if (cause == 2) {
    rejected++;
    __asm__ volatile("csrw mepc, %0" ::"r"(address + 4));
  } else {
    STATUS = 1000000 + cause;
  }
}

static void print(const char *text) {
  while (*text) CHARACTER = (uint8_t)*text++;
}

static void print_number(uint32_t value) {
  char digits[11];
  int place = 10;
  digits[10] = 0;
  do digits[--place] = '0' + value % 10;
  while (value /= 10);
  print(&digits[place]);
}

static void print_code(uint32_t value) {
  for (int bit = 28; bit >= 0; bit -= 4) CHARACTER = "0123456789abcdef"[value >> bit & 15];
}

static uint32_t clocks(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value));
  return value;
}

static uint32_t check_operation(const struct group *group, const struct row *row) {
  uint32_t flags;
  __asm__ volatile("fsrm %0" ::"r"(row->rounding));
  __asm__ volatile("fsflags zero");
  uint32_t result = group->run(row->rs1, row->rs2, row->rs3);
  __asm__ volatile("frflags %0" : "=r"(flags) : "r"(result));
  if (result == row->result && flags == row->flags) return 0;
  print("wrong: "), print(group->name), print(" gives "), print_code(result), print(", flags "), print_code(flags);
  print(", not "), print_code(row->result), print(", flags "), print_code(row->flags), print("\n");
  return 1;
}

static uint32_t check_value(const char *name, uint32_t value, uint32_t golden) {
  if (value == golden) return 0;
  print("wrong: "), print(name), print(" "), print_code(value), print(", not "), print_code(golden), print("\n");
  return 1;
}

static uint32_t check_csrs(void) {
  uint32_t flags, mode, all;
  __asm__ volatile("csrw fcsr, %3\n csrrsi %0, fflags, 2\n csrrci %1, frm, 1\n frcsr %2"
                   : "=&r"(flags), "=&r"(mode), "=&r"(all) : "r"(0x75));
  return check_value("fflags", flags, 0x15) + check_value("frm", mode, 3) + check_value("fcsr", all, 0x57);
}

static uint32_t check_rejected(void) {
  rejected = 0;
  __asm__ volatile("fdiv.s t0, t0, t0" ::: "t0");                    // no division
  __asm__ volatile("fsrm %0\n fadd.s t0, t0, t0" ::"r"(5) : "t0");  // 5 is no rounding
  __asm__ volatile(".insn r4 0x0b, 5, 0, t0, t0, t0, t0" ::: "t0");  // 5 is no format
  __asm__ volatile("fsrm zero");
  return check_value("rejected instructions", rejected, 3);
}

static uint32_t check_sum(const char *name, uint32_t sum, uint32_t golden, uint32_t taken) {
  print_number(LENGTH), print(" "), print(name), print_number(taken), print(" clocks\n");
  return check_value(name, sum, golden);
}

// The loops are not unrolled. The accumulator depends on the previous multiply-add.
static uint32_t dot_fp32(void) {
  uint32_t sum = 0;
  for (int i = 0; i < LENGTH; i++) E4M3_FMADD(FORMAT_FP32, sum, x_e4m3[i], y_e4m3[i]);
  return sum;
}

static uint32_t dot_fp16(void) {
  uint32_t sum = 0;
  for (int i = 0; i < LENGTH; i++) E4M3_FMADD(FORMAT_FP16, sum, x_e4m3[i], y_e4m3[i]);
  return sum;
}

// Plain C: the compiler selects Zfinx instructions.
static uint32_t dot_float(void) {
  float sum = 0;
  for (int i = 0; i < LENGTH; i++) sum += x_float[i] * y_float[i];
  return __builtin_bit_cast(uint32_t, sum);
}

#define EIGHT(x) x x x x x x x x
// Sets *sum to 64 products 1 * 1, each added to the previous sum.
static uint32_t dependent(uint32_t *sum) {
  uint32_t c = 0, one = 0x38, before = clocks();
  EIGHT(EIGHT(E4M3_FMADD(FORMAT_FP32, c, one, one);))
  __asm__ volatile("" ::"r"(c));
  *sum = c;
  return clocks() - before;
}

static uint32_t independent(uint32_t *last) {
  uint32_t two = 0x40000000, before = clocks();
  EIGHT(EIGHT(__asm__ volatile("fmul.s %0, %1, %1" : "=r"(*last) : "r"(two));))
  return clocks() - before;
}

void main(void) {
  uint32_t wrong = 0, count = 0, before, taken, sum;
  for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
    for (unsigned j = 0; j < ROWS; j++, count++) wrong += check_operation(&groups[i], &groups[i].rows[j]);
  print_number(sizeof groups / sizeof *groups), print(" instructions, "), print_number(count), print(" operations\n");

  wrong += check_csrs() + check_rejected();
  before = clocks(), sum = dot_fp32(), taken = clocks() - before;
  wrong += check_sum("E4M3 products, FP32 sum: ", sum, golden_fp32, taken);
  before = clocks(), sum = dot_fp16(), taken = clocks() - before;
  wrong += check_sum("E4M3 products, FP16 sum: ", sum, golden_fp16, taken);
  before = clocks(), sum = dot_float(), taken = clocks() - before;
  wrong += check_sum("float products and sum:  ", sum, golden_fp32, taken);
  taken = dependent(&sum);
  wrong += check_sum("dependent multiply-adds: ", sum, 0x42800000, taken);  // 64
  taken = independent(&sum);
  wrong += check_sum("independent products:    ", sum, 0x40800000, taken);  // 4
  STATUS = wrong;
}
