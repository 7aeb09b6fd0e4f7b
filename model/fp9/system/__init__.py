"""Files that appear whole, work on threads, tools that are missing."""
