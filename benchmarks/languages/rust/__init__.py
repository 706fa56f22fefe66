"""The generated Rust beside the crate kafka-protocol, on the same bytes."""
