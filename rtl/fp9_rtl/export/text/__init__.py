"""Write a circuit as readable Verilog, with modules and names from the Python source.

`circuits` reads the circuit from Yosys as operations on words. `hierarchy` divides the circuit into its original
modules. For SystemVerilog, `types` and `bundles` find groups of nets that cross the same module boundaries. `writer`
then writes each module. The ports and names of a module come from `ports`, `module`, `uses`, `naming`, `signals` and
`source`. The Verilog text of a module comes from `reading`, `cell_expressions`, `expressions`, `cases`, `statements`
and `heads`. `dialect` has the keywords of Verilog and SystemVerilog.
"""
