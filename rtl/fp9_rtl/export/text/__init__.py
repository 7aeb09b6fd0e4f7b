"""Write a circuit as readable Verilog, with modules and names from the Python source."""
