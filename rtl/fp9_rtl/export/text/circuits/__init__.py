"""Read circuits from Yosys, simplify the circuits, and compute their digests."""
