//! How many reviews a second, how long does one take, and does memory come back?

fn main() {}
