//! How is a real control plane started and stopped on this host?
