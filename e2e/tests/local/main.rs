//! Which scenarios hold on a real control plane?
