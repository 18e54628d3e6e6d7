//! How does any of our processes live: lead, serve, report, stop?
