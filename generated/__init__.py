"""What the generator made of the schemas; never edited by hand."""
