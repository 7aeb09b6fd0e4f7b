"""Write the results of the demonstration as JSON, HTML and tables for the terminal."""

from fp9_sim.demo.report.summary import SCHEMA, html, passed, read, write
from fp9_sim.demo.report.terminal import summary_tables

__all__ = ["SCHEMA", "html", "passed", "read", "summary_tables", "write"]
