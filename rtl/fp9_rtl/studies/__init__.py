"""Cost studies. Each answers a question about area and delay with tables and a chart.

`catalogue` lists the studies, and `run_studies` measures them by name. `study` defines a study. `medians` compares
medians over cell orders, and `submodules` measures the area of each submodule. `report` and `chart` write the pages.
"""
