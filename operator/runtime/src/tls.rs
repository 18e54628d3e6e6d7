//! Which certificate do we show, and what keeps it fresh?
//!
//! A certificate and its key are one thing: they are read together, checked against each other, and swapped together.
//! Connections that exist keep the pair they were opened with; new ones get the new pair.

mod pair;
mod rotation;
#[cfg(test)]
mod tests;
mod validity;

pub use pair::{BadPair, Files, Pair};
pub use rotation::{Rotation, TlsMetrics};
pub use validity::{BadCertificate, Validity};

/// Makes aws-lc-rs the one crypto provider of this process. Call it first in `main`; calling it again does nothing.
pub fn install_provider() {
    // An error means that a provider is installed already, which is what we want.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
