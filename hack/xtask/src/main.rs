//! Where does `cargo xtask` start?

fn main() {}
