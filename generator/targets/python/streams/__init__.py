"""Modules for streamed schemas: classes whose objects know their stream, their parents and their instances."""
