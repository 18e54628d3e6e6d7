//! What may an OpenStackNodeClass say?
