// One format of elements for both operands (0: E5M2, 1: E4M3), to nearest even, a result in every clock.
module mxdotp (
  input logic [255:0] a, b,
  input logic [7:0] a_scale, b_scale,
  input logic [31:0] c,
  input logic e4m3,
  output logic [31:0] result
);
  fpnew_mxdotp_multi_opt unit (
    .clk_i(1'b0), .rst_ni(1'b1), .operands_a_i(a), .operands_b_i(b), .operands_c_i({b_scale, a_scale}),
    .operand_d_i(c), .rnd_mode_i(fpnew_pkg::RNE), .src_fmt_i(e4m3 ? fpnew_pkg::FP8ALT : fpnew_pkg::FP8),
    .in_valid_i(1'b1), .in_ready_o(), .flush_i(1'b0), .result_o(result), .out_valid_o(), .out_ready_i(1'b1), .busy_o()
  );
endmodule
