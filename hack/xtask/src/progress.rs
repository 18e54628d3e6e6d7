//! What is a long step doing, and for how long?
