//! What may a CloudStackNodeClass say?
