"""Divide datapaths into pipeline stages, with registers and valid/ready handshakes."""
