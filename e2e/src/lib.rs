//! Which behaviours are proven end to end, and in which worlds?
