"""The Python back end: from the model to small views, which the templates print as modules and tests."""
