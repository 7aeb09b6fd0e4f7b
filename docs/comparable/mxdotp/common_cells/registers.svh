// Registers as wires: a pipeline of pulp-platform's macros as a function of its inputs, so that logic alone is compared.
`define FFL(q, d, load, start) assign q = d;
`define FFLARNC(q, d, load, clear, start, clk, rst) assign q = d;
