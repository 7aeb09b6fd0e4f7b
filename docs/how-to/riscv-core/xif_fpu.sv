// Coprocessor with the unit fpu_zfinx for the extension interface CV-X-IF of CV32E40X.
//
// The coprocessor executes these RISC-V instructions on the integer registers:
//   Zfinx and Zhinx (FP32 and FP16) without FDIV and FSQRT, with the CSRs fflags, frm and fcsr
//   custom-0, R4-type: rd = rs1 * rs2 + rs3. funct2[0] and funct2[1] are the formats of rs1 and rs2, funct3 is the
//     format of rs3 and rd. The rounding is frm.
//   custom-1, R-type: rd = rs1 in another format. The field rs2 is the format of rs1, funct7[2:0] is the format of rd,
//     and funct3 is the rounding. funct7[3] is 1 if finite numbers saturate in 8-bit formats.
// Formats of custom instructions: 0 E4M3, 1 E5M2, 2 FP16, 3 BF16, 4 FP32.
//
// The unit starts an operation before the core commits the instruction. The operation's tag is the instruction's id.
// The coprocessor returns results of committed instructions, and drops results of killed instructions.
module xif_fpu
  import fpu_zfinx_pkg::*;
(
  input logic clk,
  input logic rst_n,
  cv32e40x_if_xif.coproc_issue issue,
  cv32e40x_if_xif.coproc_commit commit,
  cv32e40x_if_xif.coproc_result result
);

  localparam int unsigned ID_BITS = 4;  // the width of the unit's tag
  localparam int unsigned IDS = 1 << ID_BITS;

  typedef enum logic [2:0] {E4M3, E5M2, FP16, BF16, FP32} format_t;
  typedef logic [ID_BITS-1:0] id_t;

  // Decoder: instruction -> operation
  logic [31:0] instruction, rs1, rs2, rs3;
  logic [2:0] funct3, rounding;
  logic known, rounded, is_csr;
  op_t op;
  logic [31:0] b, c;
  logic [2:0] fmt, a_format, b_format, c_format, result_format;
  integer_format_t integer_format;
  logic saturate;
  logic [2:0] frm;
  logic [4:0] fflags;

  assign instruction = issue.issue_req.instr;
  assign {rs3, rs2, rs1} = issue.issue_req.rs;
  assign funct3 = instruction[14:12];
  assign fmt = instruction[26] ? FP16 : FP32;
  assign rounding = !rounded ? ROUNDING_RNE : funct3 == 3'd7 || instruction[6:0] == 7'h0b ? frm : funct3;
  assign integer_format = instruction[20] ? INTEGER_FORMAT_UINT32 : INTEGER_FORMAT_INT32;

  always_comb begin
    known = !instruction[25];  // fmt is S or H
    rounded = 1'b1;
    is_csr = 1'b0;
    saturate = 1'b0;
    op = OP_FMADD;
    {a_format, b_format, c_format, result_format} = {fmt, fmt, fmt, fmt};
    b = rs2;
    c = rs2;
    case (instruction[6:0])
      7'h43, 7'h47, 7'h4b, 7'h4f: begin  // FMADD, FMSUB, FNMSUB, FNMADD
        op = op_t'({3'b0, instruction[3:2]});
        c = rs3;
      end
      7'h53:
        case (instruction[31:27])
          5'b00000: op = OP_ADD;
          5'b00001: op = OP_SUB;
          5'b00010: op = OP_MUL;
          5'b00100: begin
            op = op_t'(OP_SGNJ + {2'b0, funct3});
            rounded = 1'b0;
            known &= funct3 <= 3'd2;
          end
          5'b00101: begin
            op = funct3[0] ? OP_MAX : OP_MIN;
            rounded = 1'b0;
            known &= funct3 <= 3'd1;
          end
          5'b01000: begin  // FCVT between S and H
            op = OP_CONVERT;
            a_format = instruction[21] ? FP16 : FP32;
            known &= instruction[24:20] == (fmt == FP32 ? 5'd2 : 5'd0);
          end
          5'b10100: begin
            op = funct3 == 3'd0 ? OP_LE : funct3 == 3'd1 ? OP_LT : OP_EQ;
            result_format = FP32;
            rounded = 1'b0;
            known &= funct3 <= 3'd2;
          end
          5'b11000: begin  // FCVT.W and FCVT.WU
            op = OP_TO_INTEGER;
            result_format = FP32;
            known &= instruction[24:21] == 4'd0;
          end
          5'b11010: begin  // from W and WU
            op = OP_FROM_INTEGER;
            known &= instruction[24:21] == 4'd0;
          end
          5'b11100: begin
            op = OP_CLASSIFY;
            result_format = FP32;
            rounded = 1'b0;
            known &= funct3 == 3'd1 && instruction[24:20] == 5'd0;
          end
          default: known = 1'b0;
        endcase
      7'h0b: begin
        {a_format, b_format} = {2'b0, instruction[25], 2'b0, instruction[26]};
        {c_format, result_format} = {funct3, funct3};
        c = rs3;
        known = funct3 <= FP32;
      end
      7'h2b: begin
        op = OP_CONVERT;
        a_format = instruction[22:20];
        result_format = instruction[27:25];
        saturate = instruction[28];
        known = instruction[31:29] == 3'd0 && instruction[24:23] == 2'd0 && a_format <= FP32 && result_format <= FP32;
      end
      7'h73: begin
        is_csr = 1'b1;
        rounded = 1'b0;
        known = funct3[1:0] != 2'd0 && instruction[31:22] == 10'd0 && instruction[21:20] != 2'd0;
      end
      default: known = 1'b0;
    endcase
    known &= rounding <= ROUNDING_RNA;
  end

  // Issue: the unit takes an operation; a CSR instruction waits until the unit is empty
  logic csr_busy, can_start, can_access, unit_ready, accepted, starts, leaves;
  id_t id, tag;
  logic [IDS-1:0] busy, committed, killed;

  assign id = issue.issue_req.id;
  assign can_start = !is_csr && !csr_busy && &issue.issue_req.rs_valid && (!busy[id] || (leaves && tag == id));
  assign can_access = is_csr && !csr_busy && issue.issue_req.rs_valid[0] && busy == '0;
  assign issue.issue_ready = known ? can_access || (can_start && unit_ready) : !csr_busy;
  always_comb begin
    issue.issue_resp = '0;
    issue.issue_resp.accept = known;
    issue.issue_resp.writeback = known;
  end
  assign accepted = issue.issue_valid && issue.issue_ready && known;
  assign starts = accepted && !is_csr;

  // State of the operations in the unit, by id
  logic [4:0] rd[IDS];
  logic [1:0] size[IDS];  // 0: 8 bits, 1: 16 bits, 2: 32 bits

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      {busy, committed, killed} <= '0;
    end else begin
      if (leaves) busy[tag] <= 1'b0;
      if (accepted) {committed[id], killed[id]} <= 2'b00;
      if (starts) begin
        busy[id] <= 1'b1;
        rd[id] <= instruction[11:7];
        size[id] <= result_format == FP32 ? 2'd2 : result_format[1] ? 2'd1 : 2'd0;
      end
      // The core also kills the ids of rejected instructions, which can equal the id of a committed one.
      if (commit.commit_valid && !committed[commit.commit.id]) begin
        committed[commit.commit.id] <= !commit.commit.commit_kill;
        killed[commit.commit.id] <= commit.commit.commit_kill;
      end
    end
  end

  // The unit
  logic unit_valid, unit_taken;
  logic [31:0] code;
  logic [4:0] flags;

  fpu_zfinx unit (
    .clk, .rst_n,
    .in_valid(issue.issue_valid && known && can_start), .in_ready(unit_ready),
    .op, .a(rs1), .b, .c, .a_format, .b_format, .c_format, .result_format, .integer_format, .rounding,
    .overflow(saturate), .tag(id),
    .out_valid(unit_valid), .out_ready(unit_taken), .result(code), .flags, .result_tag(tag)
  );

  // CSR instructions: fflags is CSR 1, frm is CSR 2, fcsr is CSR 3
  id_t csr_id;
  logic [4:0] csr_rd;
  logic [7:0] fcsr, csr_mask, csr_old, csr_operand, csr_new, csr_next;
  logic csr_immediate;

  assign fcsr = {frm, fflags};
  assign csr_immediate = funct3[2];
  assign csr_mask = {{3{instruction[21]}}, {5{instruction[20]}}};
  assign csr_operand = csr_immediate ? {3'b0, instruction[19:15]} : rs1[7:0];
  always_comb begin
    logic [7:0] old, value, written;
    old = fcsr & csr_mask;
    value = instruction[21:20] == 2'd2 ? {csr_operand[2:0], 5'b0} : csr_operand;
    case (funct3[1:0])
      2'd1: written = value;
      2'd2: written = old | value;
      default: written = old & ~value;
    endcase
    csr_new = (fcsr & ~csr_mask) | (written & csr_mask);
  end

  // Results: in the order of the instructions
  logic csr_done, unit_done;

  assign csr_done = csr_busy && committed[csr_id];
  assign unit_done = unit_valid && committed[tag];
  assign unit_taken = unit_valid && (killed[tag] || (committed[tag] && result.result_ready));
  assign leaves = unit_valid && unit_taken;
  assign result.result_valid = csr_done || unit_done;
  always_comb begin
    result.result = '0;
    result.result.we = 1'b1;
    if (csr_done) begin
      result.result.id = csr_id;
      result.result.rd = csr_rd;
      result.result.data = {24'b0, csr_old};
    end else begin
      result.result.id = tag;
      result.result.rd = rd[tag];
      case (size[tag])  // Zfinx: copies of the sign bit above a short code
        2'd0: result.result.data = {{24{code[7]}}, code[7:0]};
        2'd1: result.result.data = {{16{code[15]}}, code[15:0]};
        default: result.result.data = code;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      csr_busy <= 1'b0;
      {frm, fflags} <= '0;
    end else if (accepted && is_csr) begin
      csr_busy <= 1'b1;
      csr_id <= id;
      csr_rd <= instruction[11:7];
      csr_old <= instruction[21:20] == 2'd2 ? {5'b0, frm} : fcsr & csr_mask;
      csr_next <= csr_new;
    end else if (csr_busy && killed[csr_id]) begin
      csr_busy <= 1'b0;
    end else if (csr_done && result.result_ready) begin
      csr_busy <= 1'b0;
      {frm, fflags} <= csr_next;
    end else if (unit_done && result.result_ready) begin
      fflags <= fflags | flags;
    end
  end
endmodule
