"""What runs inside a simulator: drivers, monitors, the scoreboard."""
