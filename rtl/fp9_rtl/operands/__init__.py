"""Codes to fields: decoders and upcasts."""
