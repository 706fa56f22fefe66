"""What a newer record batch costs: a schema is edited in a copy of the tree, and every door is asked."""
