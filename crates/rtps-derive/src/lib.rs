//! Derive macros for types that travel as CDR. Pure: tokens in, tokens out.
//!
//! `#[derive(Cdr)]` makes a struct with named fields, or an enum of unit variants, part of samples.
//! `#[derive(DdsType)]` does that and makes a struct the type of a topic as well.
//!
//! | attribute | on | meaning |
//! |---|---|---|
//! | `#[dds(name = "module::Name")]` | type | its name on the wire; default: the Rust name |
//! | `#[dds(crate = path)]` | type | where the `rtps` crate is; default: `::rtps` |
//! | `#[dds(key)]` | field | part of the instance key |
//! | `#[dds(max = 15)]` | `String` or `Vec` field | most octets or elements, checked both ways |
//!
//! An enum travels as a 32-bit number: the discriminant, which is an integer literal or one above the one before.

mod enumeration;
mod input;
mod structure;

use input::{Input, Shape};
use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Derives `rtps::cdr::Cdr` for a struct or a C-like enum.
#[proc_macro_derive(Cdr, attributes(dds))]
pub fn derive_cdr(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    let expand = |item| {
        let input = Input::parse(item)?;
        Ok(match &input.shape {
            Shape::Struct(fields) => structure::cdr(&input, fields),
            Shape::Enum(variants) => enumeration::cdr(&input, variants),
        })
    };
    expand(&item).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `rtps::cdr::DdsType` and `rtps::cdr::Cdr` for a struct.
#[proc_macro_derive(DdsType, attributes(dds))]
pub fn derive_dds_type(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    let expand = |item| {
        let input = Input::parse(item)?;
        match &input.shape {
            Shape::Struct(fields) => {
                let mut tokens = structure::cdr(&input, fields);
                tokens.extend(structure::dds_type(&input, fields));
                Ok(tokens)
            }
            Shape::Enum(_) => Err(Error::new_spanned(
                &input.ident,
                "a topic's type is a struct: use #[derive(Cdr)] for an enum inside it",
            )),
        }
    };
    expand(&item).unwrap_or_else(Error::into_compile_error).into()
}
