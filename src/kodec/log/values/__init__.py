"""Keys and values of records in forms that people and programs read."""
