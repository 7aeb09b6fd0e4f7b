"""A circuit as Verilog that a person reads: a module for each step, expressions in place of nets, names of the source.

Yosys gives the circuit in words (`circuit`); it is cut into the modules it was made of (`hierarchy`), its values get
their names (`signals`, `source`), and are written (`expressions`, `statements`, `layout`) module by module (`writer`).
"""
