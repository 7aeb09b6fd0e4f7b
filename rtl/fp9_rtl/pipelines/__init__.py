"""Where registers stand, and how operations wait.

`elastic` holds all valid/ready stages and the handshake's ports; `cut` makes stages of equal delay of a chain of steps:
its gates (`netlist`, `cells`, `gates`) are placed (`retime`, `flow`) and written back (`expressions`).
"""
