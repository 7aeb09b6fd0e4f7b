"""Read circuits from Yosys, find equal modules, and compute digests."""
