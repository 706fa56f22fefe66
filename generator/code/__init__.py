"""What is done to read a unit, in order: one code for layouts and streams, and its machine."""
