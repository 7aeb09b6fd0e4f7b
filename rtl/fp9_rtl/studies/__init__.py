"""Cost studies that answer questions about area and delay with tables and a chart.

`catalogue` lists the cost studies, and `run_studies` measures them by name. `study` defines the classes of a study.
`medians` compares median areas over cell orders, and `submodules` measures the area of each submodule. `report` and
`chart` write the pages of a study.
"""
