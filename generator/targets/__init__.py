"""What a model is turned into: a folder for each target, with its plan and its templates."""
