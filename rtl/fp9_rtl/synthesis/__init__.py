"""Area and delay: Liberty files, mapping, timing, FPGAs."""
