//! How does Apache CloudStack speak, in terms of the cloud contract?
