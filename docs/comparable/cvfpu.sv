// cvfpu without registers, division and dot products, behind the ports of fp9's multi-format FPU. The wrapper decodes
// the operation and the formats, and clears the ones above a narrow result (NaN boxing). Narrow format 0 is E5M2, and
// narrow format 1 is an IEEE-like E4M3. cvfpu lacks the other narrow formats, separate formats for b and c, an overflow
// policy, and comparisons that differ only in signalling.
module cvfpu #(
  parameter int unsigned Width = 16,
  parameter fpnew_pkg::fmt_logic_t Formats = 6'b001101,
  parameter fpnew_pkg::ifmt_logic_t Integers = 4'b1100,
  parameter int unsigned NarrowFormats = 2,
  parameter int unsigned FormatBits = 2,
  parameter int unsigned IntegerBits = 2,
  parameter int unsigned VectorBits = 1
) (
  input logic [4:0] op,
  input logic [Width-1:0] a, b, c,
  input logic [FormatBits-1:0] source_format, b_format, c_format, result_format,
  input logic [IntegerBits-1:0] integer_format,
  input logic [2:0] rounding,
  input logic overflow,
  input logic [VectorBits-1:0] vector,
  output logic [Width-1:0] result,
  output logic [4:0] flags
);
  import fpnew_pkg::*;

  localparam fpu_features_t Features = '{
    Width: Width, EnableVectors: 1'b1, EnableNanBox: 1'b0, FpFmtMask: Formats, IntFmtMask: Integers
  };
  localparam fpu_implementation_t Implementation = '{
    PipeRegs: '{default: 0},
    UnitTypes: '{'{default: MERGED}, '{default: DISABLED}, '{default: PARALLEL}, '{default: MERGED},
                 '{default: DISABLED}},
    PipeConfig: BEFORE
  };

  // fp9 reads a code that is too large as the last choice of the word or lane.
  function automatic fp_format_e of_code(logic [FormatBits-1:0] code);
    if (code < NarrowFormats || vector == 1) return code == 0 ? FP8 : FP8ALT;
    return code > NarrowFormats && Width == 32 && vector == 0 ? FP32 : FP16;
  endfunction

  operation_e operation;
  logic modified;
  logic [2:0] mode;
  logic [2:0][Width-1:0] operands;
  logic [Width-1:0] boxed;
  fp_format_e source, target;
  logic [IntegerBits-1:0] integers;

  assign integers = vector == 1 && integer_format > 1 ? IntegerBits'(1) : integer_format;
  assign source = of_code(source_format);
  assign target = of_code(op >= 8 && op <= 19 ? source_format : result_format);
  assign result = vector != 0 || (op >= 13 && op <= 20) ? boxed : boxed & ~({Width{1'b1}} << fp_width(target));

  always_comb begin
    mode = rounding > 4 ? 3'd4 : rounding;
    modified = 1'b0;
    operands = {c, b, a};
    case (op)
      0: operation = FMADD;
      1: begin operation = FMADD; modified = 1'b1; end
      2: operation = FNMSUB;
      3: begin operation = FNMSUB; modified = 1'b1; end
      4: begin operation = ADD; operands = {c, a, a}; end
      5: begin operation = ADD; operands = {c, a, a}; modified = 1'b1; end
      6: operation = MUL;
      7: operation = F2F;
      8, 9, 10: begin operation = SGNJ; operands = {c, c, a}; mode = 3'(op - 8); end
      11, 12: begin operation = MINMAX; operands = {c, c, a}; mode = 3'(op - 11); end
      13, 16: begin operation = CMP; operands = {c, c, a}; mode = RDN; end
      14, 17: begin operation = CMP; operands = {c, c, a}; mode = RTZ; end
      15, 18: begin operation = CMP; operands = {c, c, a}; mode = RNE; end
      19: operation = CLASSIFY;
      20: begin operation = F2I; modified = integers[0]; end
      default: begin operation = I2F; modified = integers[0]; end
    endcase
  end

  fpnew_top #(.Features(Features), .Implementation(Implementation)) unit (
    .clk_i(1'b0), .rst_ni(1'b1), .hart_id_i('0), .operands_i(operands), .rnd_mode_i(roundmode_e'(mode)),
    .op_i(operation), .op_mod_i(modified), .src_fmt_i(source), .dst_fmt_i(target),
    .int_fmt_i(int_format_e'(integers >> 1)), .vectorial_op_i(|vector), .tag_i(1'b0), .simd_mask_i('1),
    .in_valid_i(1'b1), .in_ready_o(), .flush_i(1'b0), .result_o(boxed), .status_o(flags), .tag_o(), .out_valid_o(),
    .out_ready_i(1'b1), .busy_o()
  );
endmodule
