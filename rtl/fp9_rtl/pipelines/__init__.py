"""Place registers and add valid/ready handshakes.

`elastic` has the register stages with valid/ready handshakes. `cut` divides a chain of steps into stages of equal
delay. It maps the steps to gates (`netlist`, `cells`, `gates`) and assigns operations to stages (`retime`, `flow`).
Then it converts them back to Amaranth (`expressions`).
"""
