//! What may an OVHNodeClass say?
