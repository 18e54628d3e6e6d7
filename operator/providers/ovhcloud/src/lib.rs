//! How does OVHcloud Managed Kubernetes speak, in terms of the cloud contract?
