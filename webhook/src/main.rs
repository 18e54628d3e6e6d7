//! Where does the process start?

fn main() {}
