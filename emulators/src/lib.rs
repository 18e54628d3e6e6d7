//! How do the outside worlds behave (clouds, a Kubernetes API), as deterministic state machines?
