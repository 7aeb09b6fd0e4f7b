"""What the numbers say: errors of accumulators, the papers' tables, pictures, all 2^32 inputs."""
