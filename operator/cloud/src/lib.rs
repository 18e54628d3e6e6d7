//! What is a cloud to us: what can we ask of it, and what does its answer mean for the next step?
