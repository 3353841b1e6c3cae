//! The tool people run.

fn main() {}
