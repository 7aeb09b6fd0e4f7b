"""A third-party design, correct or with faults, and its mapping, as the tests of `check_rtl` use them."""

from __future__ import annotations

from pathlib import Path

ACME_VERILOG = """\
`default_nettype none
// BF16 to E4M3, by hand: own names, active-low reset, two registers, no handshake.
module acme_quant #(parameter RND_EVEN = 1) (
    input  logic        CLOCK_I, RESET_NI, test_en_i,
    input  logic [15:0] bf_i,
    output logic [7:0]  q_o
);
    logic [15:0] bf_q;
    logic [7:0]  q_d;
    wire [7:0] e = bf_q[14:7];
    wire [7:0] sig = {1'b1, bf_q[6:0]};
    wire [7:0] down = e >= 8'd121 ? 8'd0 : 8'd121 - e;
    wire [3:0] shift = down > 8'd7 ? 4'd7 : down[3:0];
    wire [15:0] wide = {sig, 8'd0} >> shift;
    wire [3:0] kept = wide[15:12];
    wire half = wide[11];
    wire sticky = |wide[10:0];
    wire up = @up;
    wire [7:0] base = e >= 8'd121 ? {1'b0, e[3:0] - 4'd8, 3'b0} : 8'd0;
    wire [7:0] code = base + (e >= 8'd121 ? {5'd0, kept[2:0]} : {4'd0, kept}) + {7'd0, up};
    wire nan = e == 8'hff && bf_q[6:0] != 0;
    wire big = e > 8'd135 || (e >= 8'd121 && code > 8'h7e);
    wire zero = e < 8'd116;
    always_comb begin
        q_d = {bf_q[15], code[6:0]};
        if (zero || code == 0) q_d = {@zero_sign, 7'd0};
        if (@flush) q_d = {bf_q[15], 7'd0};
        if (big) q_d = {bf_q[15], @overflow};
        if (nan) q_d = {bf_q[15], @nan};
        if (test_en_i) q_d = 8'h00;
    end
    always_ff @(posedge CLOCK_I or negedge RESET_NI)
        if (!RESET_NI) begin bf_q <= '0; q_o <= '0; end
        else begin bf_q <= bf_i; q_o <= q_d; end
endmodule
`default_nettype wire
"""

RIGHT = {
    "up": "half && (sticky || kept[0])",
    "zero_sign": "bf_q[15]",
    "flush": "1'b0",
    "overflow": "7'h7e",
    "nan": "7'h7f",
}

MAPPING = """\
files = ["acme_quant.sv"]
top = "acme_quant"
latency = 2
without = ["flags"]
{more}
[unit]
kind = "cast"
source = "bf16"
targets = ["e4m3"]
roundings = ["rne"]
overflow = ["saturate"]
[ports]
x = "bf_i"
result = "q_o"
[constants]
test_en_i = 0
[clock]
port = "CLOCK_I"
[reset]
port = "RESET_NI"
active = "low"
"""


def acme_design(folder: Path, more: str = "", **faults: str) -> Path:
    """Write the design and its mapping; return the mapping's path. `faults` replace expressions of `RIGHT`."""
    text = ACME_VERILOG
    for name, expression in {**RIGHT, **faults}.items():
        text = text.replace(f"@{name}", expression)
    (folder / "acme_quant.sv").write_text(text)
    path = folder / "acme.toml"
    path.write_text(MAPPING.format(more=more))
    return path
