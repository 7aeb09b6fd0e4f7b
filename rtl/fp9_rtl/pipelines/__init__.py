"""Register placement and valid/ready handshakes.

`elastic` has all valid/ready stages and the handshake's ports. `cut` divides a chain of steps into stages of equal
delay. For this, its gates (`netlist`, `cells`, `gates`) are assigned to stages (`retime`, `flow`) and converted
back to Amaranth (`expressions`).
"""
