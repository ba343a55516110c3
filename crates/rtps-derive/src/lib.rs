//! Derive macros for CDR types.
