"""What decides an obligation about circuits: ABC, CaDiCaL, Yosys, and case splits around them."""
