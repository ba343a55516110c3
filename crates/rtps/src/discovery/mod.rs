//! What discovery announces: participants and endpoints (RTPS 8.5).

pub mod data;
