//! Which kinds are our own (group `joiner.dev`)?
