# %% [markdown]
# # My own RTL, checked
#
# E5M2 is FP16 without its last eight bits, so an upcast is wires. Is it? A few lines of Verilog and a TOML file that says which
# unit they claim to be; the sources of truth are the golden model and a simulator.

# %%
import shutil
import tempfile
from pathlib import Path

from fp9_sim import third_party

FOLDER = Path(tempfile.mkdtemp())
SIMULATOR = "icarus" if shutil.which("iverilog") else "verilator"
MAPPING = """
files = ["acme.v"]
top = "acme"
without = ["flags"]
[unit]
kind = "upcast"
name = "e5m2_to_fp16"
formats = ["e5m2"]
result = "fp16"
"""


def check(verilog):
    (FOLDER / "acme.v").write_text(verilog)
    (FOLDER / "acme.toml").write_text(MAPPING)
    found = third_party.check_rtl(third_party.load(FOLDER / "acme.toml"), SIMULATOR, count=256)
    print(f"{found.checked} operations, {found.total_mismatches} mismatches")
    for explanation in found.explanations:
        print("  explained:", explanation.says)
    for mismatch in found.mismatches[:3]:
        print(" ", mismatch)
    return found


wires = check("module acme(input [7:0] code, output [15:0] result);\n  assign result = {code, 8'h00};\nendmodule\n")

# %% [markdown]
# The numbers agree; NaN does not: several codes of E5M2 are NaN, and an upcast gives FP16's canonical one, with the sign. One line mends it.

# %%
assert not wires.passed
mended = check("""module acme(input [7:0] code, output [15:0] result);
  wire nan = code[6:0] > 7'h7C;
  assign result = nan ? {code[7], 15'h7E00} : {code, 8'h00};
endmodule
""")
assert mended.passed
