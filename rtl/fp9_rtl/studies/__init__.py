"""Cost studies that answer questions about area and delay with tables and a chart.

`catalogue` lists the studies, and `run_studies` measures studies by name. `study` defines what a study is. `medians`
compares median areas over cell orders, and `submodules` measures the area of each submodule. `report` and `chart` write
the pages of a study.
"""
