"""Generated code in other languages beside hand-tuned peers."""
