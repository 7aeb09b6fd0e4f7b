"""Cost studies: questions about area and delay, each answered with tables and a chart.

`catalogue` lists the studies, and `run_studies` measures them by name. `study` is the record, and `submodules` is
the study of where area lies. `report` and `chart` write the pages; `kept` records the circuits that each page was
measured on.
"""
