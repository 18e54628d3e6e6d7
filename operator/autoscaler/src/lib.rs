//! How does Cluster Autoscaler speak, and what do our node groups answer?
