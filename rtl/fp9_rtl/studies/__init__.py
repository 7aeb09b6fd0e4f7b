"""Cost studies that answer questions about area and delay with tables and a chart."""
