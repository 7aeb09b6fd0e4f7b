"""Arrays of other packages, under the name that the guide gives them: see `fp9.formats.dtypes`."""

from fp9.formats.dtypes import as_dtype, stored_codes, tensor_numbers

__all__ = ["as_dtype", "stored_codes", "tensor_numbers"]
