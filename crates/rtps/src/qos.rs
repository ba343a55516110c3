//! Quality of service policies and the requested/offered rule (DDS 1.4, 2.2.3).
