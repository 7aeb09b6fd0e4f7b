"""What each kind of unit computes, as a plain netlist of its own: the specification side of each proof."""
