// HardFloat's modules between ports of IEEE formats: it computes in a recoded form. Nothing is added but the recoding.
`include "HardFloat_consts.vi"

// FP32 to E5M2, to nearest even.
module hardfloat_cast (
    input [31:0] x,
    output [7:0] result,
    output [4:0] flags
);
    wire [32:0] wide;
    wire [8:0] narrow;
    fNToRecFN #(8, 24) recode (x, wide);
    recFNToRecFN #(8, 24, 5, 3) round (`flControl_tininessAfterRounding, wide, `round_near_even, narrow, flags);
    recFNToFN #(5, 3) unrecode (narrow, result);
endmodule

// The fork takes its count of leading zeros from another library; this is one with the same ports.
module bsg_counting_leading_zeros #(
    parameter width_p = 8,
    parameter num_zero_width_lp = $clog2(width_p + 1)
) (
    input [width_p-1:0] a_i,
    output reg [num_zero_width_lp-1:0] num_zero_o
);
    integer place;
    always @* begin
        num_zero_o = width_p[num_zero_width_lp-1:0];
        for (place = 0; place < width_p; place = place + 1)
            if (a_i[place]) num_zero_o = width_p[num_zero_width_lp-1:0] - 1'b1 - place[num_zero_width_lp-1:0];
    end
endmodule
