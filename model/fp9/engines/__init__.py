"""What a sum is: the record of a dot engine, and the catalogue of presets."""
