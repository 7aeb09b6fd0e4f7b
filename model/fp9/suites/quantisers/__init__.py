"""Corner-case operations of quantisers: blocks whose scale or quotients are at a boundary."""
