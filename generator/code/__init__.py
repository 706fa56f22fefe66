"""What is done to read and write a unit, in order: one code for layouts and streams, and what executes it."""
