"""What things cost: studies over specs, with their pages and charts."""
