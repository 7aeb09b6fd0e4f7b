"""RTL of the dual-format FPU (`steps`, `round`) and of the multi-format FPU (other modules)."""
