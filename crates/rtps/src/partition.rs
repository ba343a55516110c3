//! Partition matching.
