//! Which HTTPS answers does the API server get for conversion and validation?
