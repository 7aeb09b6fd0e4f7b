"""Corner-case operations of quantisers: blocks whose scale or elements are at a boundary."""
