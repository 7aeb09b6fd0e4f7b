"""The numerics explorer: numbers, formats and sums as the model has them, as a local web page.

Others use `serve`; `numbers`, `precision` and `sums` give what the page shows as plain records.
"""
