//! Where does the simulation start? (`cargo xtask sim` builds and runs this.)
fn main() {}
