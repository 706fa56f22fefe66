"""The generated Rust next to the crate kafka-protocol, on the same bytes."""
