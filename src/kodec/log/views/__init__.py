"""What an operator asks first, from the files alone: offsets, groups, transactions, metadata."""
