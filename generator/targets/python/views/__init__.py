"""The input of the templates: typed steps of finished text, in which nothing is left to decide.

A template asks a step for its `kind`, and prints it by the macro of that name. All text is Python already;
the words of a schema (`doc`) are docstrings.
"""
