"""Arrays with a number format: casts, quantisation, and products with a chosen accumulator."""

from fp9.arrays.array import Array
from fp9.arrays.block_arrays import BlockArray
from fp9.arrays.making import array, dequantise, fake_quantise, quantise
from fp9.arrays.products import dot, matmul
from fp9.arrays.stated import accumulator

__all__ = ["Array", "BlockArray", "accumulator", "array", "dequantise", "dot", "fake_quantise", "matmul", "quantise"]
