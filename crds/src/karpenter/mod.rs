//! Which kinds speak Karpenter's API, equal to upstream v1.15.0?
