"""Write a circuit as readable Verilog: a module for each step, expressions instead of nets, names from the source.

Yosys gives the circuit as operations on words (`circuit`). `hierarchy` divides it into its original modules. For
SystemVerilog, `types` and `bundles` group nets that cross module boundaries together. `writer` then processes each
module. It chooses its `ports` and the names of its values (`module`, `uses`, `naming`, `signals`, `source`). It
writes the text (`reading`, `cells`, `expressions`, `cases`, `statements`, `heads`) in a `dialect`.
"""
