//! Types known only at run time, and values of them.
