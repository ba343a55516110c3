//! The implementations for structs. Pure.

use crate::input::{Extensibility, Field, Input};
use crate::member::Part;
use proc_macro2::TokenStream;
use quote::quote;

/// `impl Cdr`.
pub(crate) fn cdr(input: &Input, fields: &[Field]) -> TokenStream {
    let Input { ident, name, krate, .. } = input;
    let cdr = quote!(#krate::cdr);
    let layout = Layout::new(input, fields, &cdr);
    let extensibility = &layout.extensibility;
    let size_min = layout.size_min();
    let (zeros, members) = (layout.parts.iter().map(Part::zero), layout.parts.iter().map(Part::described));
    let (encode, encode_key) = (layout.encode(false), layout.encode(true));
    let (decode, decode_key) = (layout.decode(false), layout.decode(true));
    let (end_max, key_end_max) = (layout.end_max(false), layout.end_max(true));
    quote! {
        #[automatically_derived]
        impl #cdr::Cdr for #ident {
            const SIZE_MIN: usize = #size_min;
            const EXTENSIBILITY: #cdr::Extensibility = #extensibility;

            #[inline]
            fn encode(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                #encode
            }

            #[inline]
            fn decode(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                #decode
            }

            fn described() -> #cdr::derived::Type {
                #cdr::derived::Type::Struct(#cdr::derived::StructType::of_derived(
                    #name,
                    #extensibility,
                    #cdr::derived::vec![#(#members),*],
                ))
            }

            fn zero() -> Self {
                Self { #(#zeros,)* }
            }

            #[inline]
            fn end_max(start: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                #end_max
            }

            #[inline]
            fn encode_key_part(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                #encode_key
            }

            #[inline]
            fn decode_key_part(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                #decode_key
            }

            #[inline]
            fn key_part_end_max(start: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                #key_end_max
            }
        }
    }
}

/// `impl DdsType`. With key members, the key of a topic is what a member of this type contributes to a key.
pub(crate) fn dds_type(input: &Input, fields: &[Field]) -> TokenStream {
    let Input { ident, name, krate, .. } = input;
    let cdr = quote!(#krate::cdr);
    let keyed = fields.iter().any(|field| field.key);
    let layout = Layout::new(input, fields, &cdr);
    let extensibility = &layout.extensibility;
    let members = layout.parts.iter().map(Part::described);
    let (encode, decode, end) = if keyed {
        (
            quote!(#cdr::Cdr::encode_key_part(self, encoder)),
            quote!(#cdr::Cdr::decode_key_part(decoder)),
            quote!(<Self as #cdr::Cdr>::key_part_end_max(start)),
        )
    } else {
        (
            quote!({
                let _ = encoder;
                ::core::result::Result::Ok(())
            }),
            quote!({ let _ = decoder; ::core::result::Result::Ok(<Self as #cdr::Cdr>::zero()) }),
            quote!(::core::option::Option::Some(start)),
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
            fn key_end_max(start: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                #end
            }

            fn structure() -> #cdr::derived::Arc<#cdr::derived::StructType> {
                #cdr::derived::StructType::of_derived(
                    #name,
                    #extensibility,
                    #cdr::derived::vec![#(#members),*],
                )
            }
        }
    }
}

/// The members of a struct and how they lie.
struct Layout<'a> {
    kind: Extensibility,
    extensibility: TokenStream,
    parts: Vec<Part<'a>>,
    cdr: &'a TokenStream,
    keyed: bool,
}

impl<'a> Layout<'a> {
    fn new(input: &Input, fields: &'a [Field], cdr: &'a TokenStream) -> Self {
        Self {
            kind: input.extensibility,
            parts: fields.iter().map(|field| Part { field, cdr, kind: input.extensibility }).collect(),
            extensibility: input.extensibility.tokens(cdr),
            cdr,
            keyed: fields.iter().any(|field| field.key),
        }
    }

    /// A member counts in a key if it is a key member, or if there are none.
    fn is_wanted(&self, part: &Part<'_>, of_key: bool) -> bool {
        !of_key || part.field.key || !self.keyed
    }

    /// The members that count, by identifier.
    fn by_id(&self, of_key: bool) -> Vec<&Part<'a>> {
        let mut parts: Vec<_> = self.parts.iter().filter(|part| self.is_wanted(part, of_key)).collect();
        parts.sort_by_key(|part| part.field.id);
        parts
    }

    fn size_min(&self) -> TokenStream {
        let (cdr, types) = (self.cdr, self.parts.iter().map(Part::size_min));
        let whole = quote!(0 #(+ #types)*);
        match self.kind {
            Extensibility::Final => whole,
            Extensibility::Appendable => quote!(#cdr::derived::size_min_appendable(#whole)),
            Extensibility::Mutable => quote!(4),
        }
    }

    fn encode(&self, of_key: bool) -> TokenStream {
        let (cdr, extensibility) = (self.cdr, &self.extensibility);
        let wanted: Vec<_> = self.parts.iter().filter(|part| self.is_wanted(part, of_key)).collect();
        let members = wanted.iter().map(|part| part.encode(of_key));
        let in_order = quote!(#(#members)* ::core::result::Result::Ok(()));
        let is_sorted = wanted.is_sorted_by_key(|part| part.field.id);
        let body = if is_sorted {
            in_order
        } else {
            let by_id = self.by_id(of_key);
            let sorted = by_id.iter().map(|part| part.encode(of_key));
            quote! {
                if encoder.is_key_hash() {
                    #(#sorted)*
                    return ::core::result::Result::Ok(());
                }
                #in_order
            }
        };
        if self.kind == Extensibility::Final {
            return body;
        }
        quote!(encoder.structure(#extensibility, |encoder: &mut #cdr::Encoder<'_>| { #body }))
    }

    fn decode(&self, of_key: bool) -> TokenStream {
        let (cdr, extensibility) = (self.cdr, &self.extensibility);
        let body = if self.kind == Extensibility::Mutable {
            self.decode_headed(of_key)
        } else {
            let members = self.parts.iter().map(|part| match self.is_wanted(part, of_key) {
                true => part.decode_in_order(of_key),
                false => part.zero(),
            });
            quote!(::core::result::Result::Ok(Self { #(#members,)* }))
        };
        if self.kind == Extensibility::Final {
            return body;
        }
        quote!(decoder.structure(#extensibility, |decoder: &mut #cdr::Decoder<'_>| { #body }))
    }

    fn decode_headed(&self, of_key: bool) -> TokenStream {
        let (wanted, others): (Vec<_>, Vec<_>) =
            self.parts.iter().partition(|part| self.is_wanted(part, of_key));
        let (cdr, slots) = (self.cdr, wanted.iter().map(|part| part.slot()));
        let arms = wanted.iter().map(|part| part.decode_headed(of_key));
        let unwanted = others.iter().map(|part| part.field.id);
        let members = self.parts.iter().map(|part| match self.is_wanted(part, of_key) {
            true => part.take_slot(),
            false => part.zero(),
        });
        quote! {
            #(#slots)*
            decoder.members(|header: #cdr::MemberHeader, decoder: &mut #cdr::Decoder<'_>| {
                match header.id {
                    #(#arms)*
                    #(#unwanted => {})*
                    _ => header.skip()?,
                }
                ::core::result::Result::Ok(())
            })?;
            ::core::result::Result::Ok(Self { #(#members,)* })
        }
    }

    fn end_max(&self, of_key: bool) -> TokenStream {
        let parts = self.by_id(of_key);
        if parts.iter().any(|part| part.field.optional) {
            return quote!({
                let _ = start;
                ::core::option::Option::None
            });
        }
        let ends = parts.iter().map(|part| part.end_max(of_key));
        quote! {
            let end = start;
            #(#ends)*
            ::core::option::Option::Some(end)
        }
    }
}
