//! Derive macros for types that travel as CDR. Pure: tokens in, tokens out.
//!
//! `#[derive(Cdr)]` makes a struct with named fields, or an enum of unit variants, part of samples.
//! `#[derive(DdsType)]` does that and makes a struct the type of a topic as well.
//!
//! | attribute | on | meaning |
//! |---|---|---|
//! | `#[dds(name = "module::Name")]` | type | its name on the wire; default: the Rust name |
//! | `#[dds(crate = path)]` | type | where the `rtps` crate is; default: `::rtps` |
//! | `#[dds(extensibility = "final")]` | struct | how it may change: `final` (the default), `appendable`, `mutable` |
//! | `#[dds(key)]` | field | part of the instance key |
//! | `#[dds(max = 15)]` | `String` or `Vec` field | most octets or elements, checked both ways |
//! | `#[dds(id = 7)]` | field | its identifier; default: one above that of the field before, from 0 |
//! | `#[dds(must_understand)]` | field | a reader of a mutable type that does not know it refuses the sample |
//!
//! A field of type `Option<T>`, written so, is an optional member.
//!
//! An enum travels as a 32-bit number: the discriminant, which is an integer literal or one above the one before.

mod enumeration;
mod input;
mod member;
mod structure;

use input::{Input, Shape};
use proc_macro::TokenStream;
use syn::{DeriveInput, Error, Result, parse_macro_input};

/// Derives `rtps::cdr::Cdr` for a struct or a C-like enum.
#[proc_macro_derive(Cdr, attributes(dds))]
pub fn derive_cdr(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    expand_cdr(&item).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `rtps::cdr::DdsType` and `rtps::cdr::Cdr` for a struct.
#[proc_macro_derive(DdsType, attributes(dds))]
pub fn derive_dds_type(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    expand_dds_type(&item).unwrap_or_else(Error::into_compile_error).into()
}

fn expand_cdr(item: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let input = Input::parse(item)?;
    Ok(match &input.shape {
        Shape::Struct(fields) => structure::cdr(&input, fields),
        Shape::Enum(variants) => enumeration::cdr(&input, variants),
    })
}

fn expand_dds_type(item: &DeriveInput) -> Result<proc_macro2::TokenStream> {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_str;

    fn refusal(item: &str) -> String {
        let item = parse_str(item).unwrap();
        expand_dds_type(&item).unwrap_err().to_string()
    }

    /// Each shape without a layout on the wire is refused with the reason and what to do instead.
    #[test]
    fn unsupported_shapes_are_refused() {
        for (item, reason) in [
            ("struct A<T> { a: T }", "generic parameters and lifetimes are not supported"),
            ("struct A<'a> { a: &'a str }", "generic parameters and lifetimes are not supported"),
            ("struct A(u8);", "use named fields"),
            ("struct A;", "add a field"),
            ("struct A {}", "add a field"),
            ("struct A { a: Vec<A> }", "must not contain itself"),
            ("struct A { a: Vec<Self> }", "must not contain itself"),
            ("union A { a: u8 }", "unions are not supported"),
            ("enum A {}", "at least one variant"),
            ("enum A { B(u8) }", "variants cannot have fields"),
            ("enum A { B = -1 }", "an integer literal from 0 to 2^32 - 1"),
            ("enum A { B = 4294967295, C }", "above 2^32 - 1"),
            ("enum A { B }", "a topic's type is a struct"),
        ] {
            let refusal = refusal(item);
            assert!(refusal.contains(reason), "{refusal:?} does not say {reason:?}");
        }
    }

    /// Attributes that do not exist, or have an impossible value, are refused.
    #[test]
    fn wrong_attributes_are_refused() {
        for (item, reason) in [
            ("#[dds(nam = \"x\")] struct A { a: u8 }", "expected `name"),
            ("#[dds(name = \"\")] struct A { a: u8 }", "at least one character"),
            ("struct A { #[dds(kee)] a: u8 }", "expected `key`"),
            ("#[dds(extensibility = \"open\")] struct A { a: u8 }", "expected \"final\""),
            ("#[dds(extensibility = \"final\")] enum A { B }", "only structs"),
            ("struct A { #[dds(key)] a: Option<u8> }", "cannot be an `Option`"),
            ("struct A { #[dds(id = 1)] a: u8, #[dds(id = 1)] b: u8 }", "that of another field"),
            ("struct A { #[dds(id = 268435456)] a: u8 }", "above 2^28 - 1"),
            ("struct A { #[dds(max = \"3\")] a: String }", "expected integer literal"),
            ("struct A { #[dds(max = 4294967296)] a: String }", "number too large"),
            ("enum A { #[dds(key)] B }", "variants take no `dds` attribute"),
        ] {
            let refusal = refusal(item);
            assert!(refusal.contains(reason), "{refusal:?} does not say {reason:?}");
        }
    }

    /// A type of another module that happens to have the same last name is not taken for recursion.
    #[test]
    fn a_name_in_another_module_is_no_recursion() {
        assert!(expand_cdr(&parse_str("struct A { a: other::A }").unwrap()).is_ok());
    }
}
