"""What things will cost: time and memory. Pure functions of measured figures."""
