//! Which shapes do several kinds share?
