//! Parameter lists (RTPS 9.4.2.11).
