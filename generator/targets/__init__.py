"""Targets, which turn a model into files: a folder for each, with its plan and its templates."""
