//! From the tokens of a type to what the derives need, with an error at the place of whatever they cannot do. Pure.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Path, Result, Type,
};
use syn::{LitInt, parse_quote};

/// A type to derive for.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    /// Name on the wire.
    pub(crate) name: String,
    /// Path of the `rtps` crate.
    pub(crate) krate: Path,
    pub(crate) shape: Shape,
}

pub(crate) enum Shape {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

/// A field of a struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// Name in the type description and in errors.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) key: bool,
    pub(crate) max: Option<u32>,
}

/// An enumerator.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) value: u32,
}

impl Input {
    pub(crate) fn parse(item: &DeriveInput) -> Result<Self> {
        if !item.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &item.generics,
                "a type on the wire has one layout: generic parameters and lifetimes are not supported",
            ));
        }
        let mut name = item.ident.unraw().to_string();
        let mut krate: Path = parse_quote!(::rtps);
        for attribute in dds_attributes(&item.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    let value: LitStr = meta.value()?.parse()?;
                    name = value.value();
                    if name.is_empty() || name.contains('\0') {
                        return Err(Error::new_spanned(
                            value,
                            "a type name has at least one character and no NUL",
                        ));
                    }
                    Ok(())
                } else if meta.path.is_ident("crate") {
                    krate = meta.value()?.call(Path::parse_mod_style)?;
                    Ok(())
                } else {
                    Err(meta.error("expected `name = \"...\"` or `crate = path`"))
                }
            })?;
        }
        let shape = match &item.data {
            Data::Struct(data) => Shape::Struct(parse_fields(&item.ident, &data.fields)?),
            Data::Enum(data) => Shape::Enum(parse_variants(&item.ident, data.variants.iter())?),
            Data::Union(data) => {
                return Err(Error::new_spanned(data.union_token, "unions are not supported: use a struct"));
            }
        };
        Ok(Self { ident: item.ident.clone(), name, krate, shape })
    }
}

fn dds_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("dds"))
}

fn parse_fields(owner: &Ident, fields: &Fields) -> Result<Vec<Field>> {
    let named = match fields {
        Fields::Named(fields) if !fields.named.is_empty() => &fields.named,
        Fields::Unnamed(fields) => {
            return Err(Error::new_spanned(fields, "members on the wire have names: use named fields"));
        }
        Fields::Named(_) | Fields::Unit => {
            return Err(Error::new_spanned(
                owner,
                "a struct on the wire has at least one member: add a field",
            ));
        }
    };
    named
        .iter()
        .filter_map(|field| field.ident.as_ref().map(|ident| (ident, field)))
        .map(|(ident, field)| parse_field(owner, ident, field))
        .collect()
}

fn parse_field(owner: &Ident, ident: &Ident, field: &syn::Field) -> Result<Field> {
    if mentions(field.ty.to_token_stream(), owner) {
        return Err(Error::new_spanned(&field.ty, "a type on the wire must not contain itself"));
    }
    let (mut key, mut max) = (false, None);
    for attribute in dds_attributes(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("key") {
                key = true;
                Ok(())
            } else if meta.path.is_ident("max") {
                let value: LitInt = meta.value()?.parse()?;
                max = Some(value.base10_parse()?);
                Ok(())
            } else {
                Err(meta.error("expected `key` or `max = N`"))
            }
        })?;
    }
    Ok(Field { ident: ident.clone(), name: ident.unraw().to_string(), ty: field.ty.clone(), key, max })
}

fn parse_variants<'a>(
    owner: &Ident,
    variants: impl Iterator<Item = &'a syn::Variant>,
) -> Result<Vec<Variant>> {
    let mut parsed: Vec<Variant> = Vec::new();
    let mut next = Some(0);
    for variant in variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                &variant.fields,
                "an enum on the wire is a number: variants cannot have fields",
            ));
        }
        if let Some(attribute) = dds_attributes(&variant.attrs).next() {
            return Err(Error::new_spanned(attribute, "variants take no `dds` attribute"));
        }
        let value: u32 = match &variant.discriminant {
            Some((_, Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }))) => literal.base10_parse()?,
            Some((_, other)) => {
                return Err(Error::new_spanned(
                    other,
                    "a discriminant must be an integer literal from 0 to 2^32 - 1",
                ));
            }
            None => next.ok_or_else(|| Error::new_spanned(variant, "the discriminant is above 2^32 - 1"))?,
        };
        next = value.checked_add(1);
        let ident = variant.ident.clone();
        parsed.push(Variant { name: ident.unraw().to_string(), ident, value });
    }
    if parsed.is_empty() {
        return Err(Error::new_spanned(owner, "an enum on the wire has at least one variant"));
    }
    Ok(parsed)
}

/// Whether a type's tokens name `ident`, or `Self`, as a type of this scope.
fn mentions(tokens: TokenStream, ident: &Ident) -> bool {
    let mut after_colon = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(found) => !std::mem::take(&mut after_colon) && (found == *ident || found == "Self"),
        TokenTree::Group(group) => mentions(group.stream(), ident),
        TokenTree::Punct(punct) => {
            after_colon = punct.as_char() == ':';
            false
        }
        TokenTree::Literal(_) => false,
    })
}
