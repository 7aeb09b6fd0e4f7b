"""Place registers and add valid/ready handshakes.

The fixed-point number that holds the exact sum of all products: lowest weight, highest weight and width in bits. `cut`
divides a datapath into pipeline stages of equal delay. The modules `netlist`, `cells` and `gates` map the datapath to
gates. `retime` and `flow` assign the datapath's operations to pipeline stages. `expressions` converts the operations
back to Amaranth.
"""
