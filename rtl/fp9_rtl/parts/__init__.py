"""Shared parts of all units: datapath stages, layouts, selection, shifters, adders, conditions."""
