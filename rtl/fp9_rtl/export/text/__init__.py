"""A circuit as Verilog that a person reads: a module for each step, expressions in place of nets, names of the source.

Yosys gives the circuit in words (`circuit`); it is cut into the modules it was made of (`hierarchy`), for SystemVerilog
with `types` for what crosses their bounds together (`bundles`). Module by module (`writer`) it gets its `ports`, its
values their names (`module`, `uses`, `naming`, `signals`, `source`), and all is written (`reading`, `cells`,
`expressions`, `cases`, `statements`, `heads`) as its `dialect` has it.
"""
