"""Cost studies that answer questions about area and delay with tables and a chart.

`catalogue` lists the cost studies, and `run_studies` measures them by name. `study` defines the classes of a study.
`medians` compares areas as medians over several orders of a netlist's cells, and `submodules` measures submodule areas.
`report` and `chart` write the pages of a study.
"""
