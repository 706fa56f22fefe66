"""Modules for streamed schemas: classes whose objects know their stream, parents and instances."""
