//! RTPS messages and submessages (RTPS 8.3 and 9.4).
