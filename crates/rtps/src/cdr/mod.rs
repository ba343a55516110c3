//! Common Data Representation: encoding of typed samples (DDS-XTypes 1.3, 7.4).
