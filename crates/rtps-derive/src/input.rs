//! From the tokens of a type to what the derives need, with an error at the place of whatever they cannot do. Pure.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Path, Result, Type,
};
use syn::{GenericArgument, LitInt, PathArguments, parse_quote};

/// A type to derive for.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    /// Name on the wire.
    pub(crate) name: String,
    /// Path of the `rtps` crate.
    pub(crate) krate: Path,
    pub(crate) extensibility: Extensibility,
    pub(crate) shape: Shape,
}

/// How a struct may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extensibility {
    Final,
    Appendable,
    Mutable,
}

impl Extensibility {
    /// The constant of the `rtps` crate.
    pub(crate) fn tokens(self, cdr: &TokenStream) -> TokenStream {
        match self {
            Self::Final => quote!(#cdr::Extensibility::Final),
            Self::Appendable => quote!(#cdr::Extensibility::Appendable),
            Self::Mutable => quote!(#cdr::Extensibility::Mutable),
        }
    }
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
    /// Its type; of an optional field that within the `Option`.
    pub(crate) ty: Type,
    pub(crate) key: bool,
    pub(crate) max: Option<u32>,
    /// The identifier that was given.
    pub(crate) given_id: Option<u32>,
    pub(crate) id: u32,
    pub(crate) optional: bool,
    pub(crate) must_understand: bool,
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
        let mut input = Self {
            ident: item.ident.clone(),
            name: item.ident.unraw().to_string(),
            krate: parse_quote!(::rtps),
            extensibility: Extensibility::Final,
            shape: Shape::Enum(Vec::new()),
        };
        for attribute in dds_attributes(&item.attrs) {
            attribute.parse_nested_meta(|meta| input.parse_attribute(item, &meta))?;
        }
        input.shape = match &item.data {
            Data::Struct(data) => Shape::Struct(parse_fields(&item.ident, &data.fields)?),
            Data::Enum(data) => Shape::Enum(parse_variants(&item.ident, data.variants.iter())?),
            Data::Union(data) => {
                return Err(Error::new_spanned(data.union_token, "unions are not supported: use a struct"));
            }
        };
        Ok(input)
    }

    fn parse_attribute(&mut self, item: &DeriveInput, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            let value: LitStr = meta.value()?.parse()?;
            self.name = value.value();
            if self.name.is_empty() || self.name.contains('\0') {
                return Err(Error::new_spanned(value, "a type name has at least one character and no NUL"));
            }
            Ok(())
        } else if meta.path.is_ident("crate") {
            self.krate = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        } else if meta.path.is_ident("extensibility") {
            let value: LitStr = meta.value()?.parse()?;
            if !matches!(item.data, Data::Struct(_)) {
                return Err(Error::new_spanned(value, "only structs have an extensibility"));
            }
            self.extensibility = match value.value().as_str() {
                "final" => Extensibility::Final,
                "appendable" => Extensibility::Appendable,
                "mutable" => Extensibility::Mutable,
                _ => {
                    return Err(Error::new_spanned(
                        value,
                        "expected \"final\", \"appendable\" or \"mutable\"",
                    ));
                }
            };
            Ok(())
        } else {
            Err(meta.error("expected `name = \"...\"`, `extensibility = \"...\"` or `crate = path`"))
        }
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
    let mut parsed: Vec<Field> = named
        .iter()
        .filter_map(|field| field.ident.as_ref().map(|ident| (ident, field)))
        .map(|(ident, field)| parse_field(owner, ident, field))
        .collect::<Result<_>>()?;
    let mut next = 0;
    for index in 0..parsed.len() {
        let id = parsed[index].given_id.unwrap_or(next);
        if id > MEMBER_ID_MAX || parsed[..index].iter().any(|earlier| earlier.id == id) {
            return Err(Error::new_spanned(
                &parsed[index].ident,
                format!("identifier {id} is above 2^28 - 1 or that of another field: give `id = N`"),
            ));
        }
        parsed[index].id = id;
        next = id + 1;
    }
    Ok(parsed)
}

/// The largest identifier of a member.
const MEMBER_ID_MAX: u32 = 0x0fff_ffff;

fn parse_field(owner: &Ident, ident: &Ident, field: &syn::Field) -> Result<Field> {
    if mentions(field.ty.to_token_stream(), owner) {
        return Err(Error::new_spanned(&field.ty, "a type on the wire must not contain itself"));
    }
    let optional = within_option(&field.ty);
    let mut parsed = Field {
        ident: ident.clone(),
        name: ident.unraw().to_string(),
        ty: optional.unwrap_or(&field.ty).clone(),
        key: false,
        max: None,
        given_id: None,
        id: 0,
        optional: optional.is_some(),
        must_understand: false,
    };
    for attribute in dds_attributes(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            let number = || meta.value()?.parse::<LitInt>()?.base10_parse();
            if meta.path.is_ident("key") {
                parsed.key = true;
            } else if meta.path.is_ident("max") {
                parsed.max = Some(number()?);
            } else if meta.path.is_ident("id") {
                parsed.given_id = Some(number()?);
            } else if meta.path.is_ident("must_understand") {
                parsed.must_understand = true;
            } else {
                return Err(meta.error("expected `key`, `max = N`, `id = N` or `must_understand`"));
            }
            Ok(())
        })?;
    }
    if parsed.key && parsed.optional {
        return Err(Error::new_spanned(&field.ty, "a key field is always there: it cannot be an `Option`"));
    }
    Ok(parsed)
}

/// The `T` of a type written as `Option<T>`, with or without a path before it.
fn within_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
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
