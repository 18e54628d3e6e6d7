//! Given everything known at this moment, what should happen next, and why?
