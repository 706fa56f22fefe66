"""The kodec command: parse arguments, call one function, print."""
