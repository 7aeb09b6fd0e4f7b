"""Place registers and add valid/ready handshakes.

The module `elastic` contains register stages with valid/ready handshakes. `cut` divides a datapath into pipeline stages
of equal delay. The modules `netlist`, `cells` and `gates` map the datapath to gates. `retime` and `flow` assign the
datapath's operations to pipeline stages. `expressions` converts the operations back to Amaranth.
"""
