"""Questions on what things cost, each with a table and a chart.

`catalogue` lists them, `job` measures them by name; `study` is the record, `submodules` the one on where area lies,
`report` and `chart` write; `kept` says of which circuits the pages are.
"""
