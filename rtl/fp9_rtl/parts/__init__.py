"""What every unit is made of: steps, layouts, selects, shifters, carries."""
