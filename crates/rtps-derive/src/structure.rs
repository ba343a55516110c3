//! The implementations for structs. Pure.

use crate::input::{Field, Input};
use proc_macro2::TokenStream;
use quote::quote;

/// `impl Cdr`.
pub(crate) fn cdr(input: &Input, fields: &[Field]) -> TokenStream {
    let Input { ident, name, krate, .. } = input;
    let cdr = quote!(#krate::cdr);
    let parts: Vec<Part<'_>> = fields.iter().map(|field| Part { field, cdr: &cdr }).collect();
    let keyed = fields.iter().any(|field| field.key);
    let types = fields.iter().map(|field| &field.ty);
    let zeros = parts.iter().map(Part::zero);
    let members = parts.iter().map(Part::described);
    let (encodes, decodes): (Vec<_>, Vec<_>) =
        parts.iter().map(|part| (part.encode(false), part.decode(false))).unzip();
    let ends = parts.iter().map(|part| part.end_max(false));
    let in_key: Vec<bool> = fields.iter().map(|field| field.key || !keyed).collect();
    let key_encodes = parts.iter().zip(&in_key).filter(|(_, key)| **key).map(|(part, _)| part.encode(true));
    let key_decodes =
        parts.iter().zip(&in_key).map(|(part, key)| if *key { part.decode(true) } else { part.zero() });
    let key_ends = parts.iter().zip(&in_key).filter(|(_, key)| **key).map(|(part, _)| part.end_max(true));
    quote! {
        #[automatically_derived]
        impl #cdr::Cdr for #ident {
            const SIZE_MIN: usize = 0 #(+ <#types as #cdr::Cdr>::SIZE_MIN)*;

            #[inline]
            fn encode(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                #(#encodes)*
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn decode(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                ::core::result::Result::Ok(Self { #(#decodes,)* })
            }

            fn described() -> #cdr::derived::Type {
                #cdr::derived::Type::Struct(#cdr::derived::StructType::of_derived(
                    #name,
                    #cdr::derived::vec![#(#members),*],
                ))
            }

            fn zero() -> Self {
                Self { #(#zeros,)* }
            }

            #[inline]
            fn end_max(start: usize) -> ::core::option::Option<usize> {
                let end = start;
                #(#ends)*
                ::core::option::Option::Some(end)
            }

            #[inline]
            fn encode_key_part(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                #(#key_encodes)*
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn decode_key_part(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                ::core::result::Result::Ok(Self { #(#key_decodes,)* })
            }

            #[inline]
            fn key_part_end_max(start: usize) -> ::core::option::Option<usize> {
                let end = start;
                #(#key_ends)*
                ::core::option::Option::Some(end)
            }
        }
    }
}

/// `impl DdsType`. With key members, the key of a topic is what a member of this type contributes to a key.
pub(crate) fn dds_type(input: &Input, fields: &[Field]) -> TokenStream {
    let Input { ident, name, krate, .. } = input;
    let cdr = quote!(#krate::cdr);
    let keyed = fields.iter().any(|field| field.key);
    let members = fields.iter().map(|field| Part { field, cdr: &cdr }.described());
    let (encode, decode, size) = if keyed {
        (
            quote!(#cdr::Cdr::encode_key_part(self, encoder)),
            quote!(#cdr::Cdr::decode_key_part(decoder)),
            quote!(<Self as #cdr::Cdr>::key_part_end_max(0)),
        )
    } else {
        (
            quote!({
                let _ = encoder;
                ::core::result::Result::Ok(())
            }),
            quote!({ let _ = decoder; ::core::result::Result::Ok(<Self as #cdr::Cdr>::zero()) }),
            quote!(::core::option::Option::Some(0)),
        )
    };
    quote! {
        #[automatically_derived]
        impl #cdr::DdsType for #ident {
            const TYPE_NAME: &'static str = #name;
            const KEYED: bool = #keyed;

            #[inline]
            fn encode_key(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                #encode
            }

            #[inline]
            fn decode_key(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                #decode
            }

            #[inline]
            fn key_max_size() -> ::core::option::Option<usize> {
                #size
            }

            fn structure() -> #cdr::derived::Arc<#cdr::derived::StructType> {
                #cdr::derived::StructType::of_derived(#name, #cdr::derived::vec![#(#members),*])
            }
        }
    }
}

/// The code for one field.
struct Part<'a> {
    field: &'a Field,
    cdr: &'a TokenStream,
}

impl Part<'_> {
    fn encode(&self, of_key: bool) -> TokenStream {
        let (Field { ident, name, ty, .. }, cdr) = (self.field, self.cdr);
        let encode = match (self.field.max, of_key) {
            (Some(max), _) => quote!(<#ty as #cdr::Bounded>::encode_bounded(&self.#ident, #max, encoder)),
            (None, true) => quote!(<#ty as #cdr::Cdr>::encode_key_part(&self.#ident, encoder)),
            (None, false) => quote!(<#ty as #cdr::Cdr>::encode(&self.#ident, encoder)),
        };
        quote!(#cdr::derived::member(#name, #encode)?;)
    }

    fn decode(&self, of_key: bool) -> TokenStream {
        let (Field { ident, name, ty, .. }, cdr) = (self.field, self.cdr);
        let decode = match (self.field.max, of_key) {
            (Some(max), _) => quote!(<#ty as #cdr::Bounded>::decode_bounded(#max, decoder)),
            (None, true) => quote!(<#ty as #cdr::Cdr>::decode_key_part(decoder)),
            (None, false) => quote!(<#ty as #cdr::Cdr>::decode(decoder)),
        };
        quote!(#ident: #cdr::derived::member(#name, #decode)?)
    }

    fn zero(&self) -> TokenStream {
        let (Field { ident, ty, .. }, cdr) = (self.field, self.cdr);
        quote!(#ident: <#ty as #cdr::Cdr>::zero())
    }

    fn end_max(&self, of_key: bool) -> TokenStream {
        let (ty, cdr) = (&self.field.ty, self.cdr);
        match (self.field.max, of_key) {
            (Some(max), _) => quote!(let end = <#ty as #cdr::Bounded>::bounded_end_max(end, #max)?;),
            (None, true) => quote!(let end = <#ty as #cdr::Cdr>::key_part_end_max(end)?;),
            (None, false) => quote!(let end = <#ty as #cdr::Cdr>::end_max(end)?;),
        }
    }

    fn described(&self) -> TokenStream {
        let (Field { name, ty, key, .. }, cdr) = (self.field, self.cdr);
        let described = match self.field.max {
            Some(max) => quote!(<#ty as #cdr::Bounded>::bounded_described(#max)),
            None => quote!(<#ty as #cdr::Cdr>::described()),
        };
        quote! {
            #cdr::derived::Member {
                name: #cdr::derived::String::from(#name),
                ty: #described,
                key: #key,
            }
        }
    }
}
