//! How are the Go tools (control plane, hollow kubelet) built once into the cache?
