//! Well-known ports (RTPS 9.6.1).
