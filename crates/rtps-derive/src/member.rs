//! The code for one field of a struct. Pure.

use crate::input::{Extensibility, Field};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// A field and the struct that it is in.
pub(crate) struct Part<'a> {
    pub(crate) field: &'a Field,
    pub(crate) cdr: &'a TokenStream,
    pub(crate) kind: Extensibility,
}

impl Part<'_> {
    /// The statement that appends the member.
    pub(crate) fn encode(&self, of_key: bool) -> TokenStream {
        let (Field { ident, name, ty, .. }, cdr) = (self.field, self.cdr);
        let encode = |value: TokenStream| match (self.field.max, of_key) {
            (Some(max), _) => quote!(<#ty as #cdr::Bounded>::encode_bounded(#value, #max, encoder)),
            (None, true) => quote!(<#ty as #cdr::Cdr>::encode_key_part(#value, encoder)),
            (None, false) => quote!(<#ty as #cdr::Cdr>::encode(#value, encoder)),
        };
        let (kind, header) = (self.kind.tokens(cdr), self.header());
        let encode = match (self.field.optional, self.kind) {
            (true, _) => {
                let encode = encode(quote!(value));
                quote!(encoder.optional_member(#kind, #header, self.#ident.as_ref(), |value, encoder| #encode))
            }
            (false, Extensibility::Mutable) => {
                let encode = encode(quote!(&self.#ident));
                quote!(encoder.member(#kind, #header, |encoder| #encode))
            }
            (false, _) => encode(quote!(&self.#ident)),
        };
        quote!(#cdr::derived::member(#name, #encode)?;)
    }

    /// `ident: value` of a member that comes in its place.
    pub(crate) fn decode_in_order(&self, of_key: bool) -> TokenStream {
        let (Field { ident, name, id, .. }, cdr) = (self.field, self.cdr);
        let mut decode = self.value(of_key);
        if self.field.optional {
            decode = quote!(decoder.optional_member(#id, |decoder| #decode));
        }
        let value = quote!(#cdr::derived::member(#name, #decode)?);
        if self.kind != Extensibility::Appendable {
            return quote!(#ident: #value);
        }
        let zero = self.zero_value();
        quote!(#ident: if decoder.is_at_end() { #zero } else { #value })
    }

    /// The variable in which a member of a mutable struct waits for the others.
    pub(crate) fn slot(&self) -> TokenStream {
        let (slot, ty) = (self.slot_name(), &self.field.ty);
        quote!(let mut #slot: ::core::option::Option<#ty> = ::core::option::Option::None;)
    }

    /// The arm that reads a member of a mutable struct into its slot.
    pub(crate) fn decode_headed(&self, of_key: bool) -> TokenStream {
        let (slot, Field { name, id, .. }, cdr) = (self.slot_name(), self.field, self.cdr);
        let decode = self.value(of_key);
        quote!(#id => #slot = ::core::option::Option::Some(#cdr::derived::member(#name, #decode)?),)
    }

    /// `ident: value` of a member of a mutable struct.
    pub(crate) fn take_slot(&self) -> TokenStream {
        let (slot, Field { ident, name, key, .. }, cdr) = (self.slot_name(), self.field, self.cdr);
        let zero = self.zero_value();
        if self.field.optional {
            quote!(#ident: #slot)
        } else if *key {
            quote!(#ident: #cdr::derived::member(#name, #slot.ok_or(#cdr::CdrError::KeyMissing))?)
        } else {
            quote! {
                #ident: match #slot {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => #zero,
                }
            }
        }
    }

    /// `ident: value` of a member that was left out.
    pub(crate) fn zero(&self) -> TokenStream {
        let (ident, zero) = (&self.field.ident, self.zero_value());
        quote!(#ident: #zero)
    }

    pub(crate) fn size_min(&self) -> TokenStream {
        let (ty, cdr) = (&self.field.ty, self.cdr);
        if self.field.optional { quote!(1) } else { quote!(<#ty as #cdr::Cdr>::SIZE_MIN) }
    }

    /// The statement that moves `end` behind the member.
    pub(crate) fn end_max(&self, of_key: bool) -> TokenStream {
        let (ty, cdr) = (&self.field.ty, self.cdr);
        match (self.field.max, of_key) {
            (Some(max), _) => quote!(let end = <#ty as #cdr::Bounded>::bounded_end_max(end, #max)?;),
            (None, true) => quote!(let end = <#ty as #cdr::Cdr>::key_part_end_max(end)?;),
            (None, false) => quote!(let end = <#ty as #cdr::Cdr>::end_max(end)?;),
        }
    }

    /// The member in the form known at run time.
    pub(crate) fn described(&self) -> TokenStream {
        let (Field { name, ty, key, given_id, optional, must_understand, .. }, cdr) = (self.field, self.cdr);
        let described = match self.field.max {
            Some(max) => quote!(<#ty as #cdr::Bounded>::bounded_described(#max)),
            None => quote!(<#ty as #cdr::Cdr>::described()),
        };
        let id = match given_id {
            Some(id) => quote!(::core::option::Option::Some(#id)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            #cdr::derived::Member {
                key: #key,
                id: #id,
                is_optional: #optional,
                must_understand: #must_understand,
                ..#cdr::derived::Member::new(#name, #described)
            }
        }
    }

    /// The expression that reads the value, as a result.
    fn value(&self, of_key: bool) -> TokenStream {
        let (ty, cdr) = (&self.field.ty, self.cdr);
        match (self.field.max, of_key) {
            (Some(max), _) => quote!(<#ty as #cdr::Bounded>::decode_bounded(#max, decoder)),
            (None, true) => quote!(<#ty as #cdr::Cdr>::decode_key_part(decoder)),
            (None, false) => quote!(<#ty as #cdr::Cdr>::decode(decoder)),
        }
    }

    fn zero_value(&self) -> TokenStream {
        let (ty, cdr) = (&self.field.ty, self.cdr);
        if self.field.optional {
            quote!(::core::option::Option::None)
        } else {
            quote!(<#ty as #cdr::Cdr>::zero())
        }
    }

    fn slot_name(&self) -> syn::Ident {
        format_ident!("slot_{}", self.field.name)
    }

    fn header(&self) -> TokenStream {
        let (Field { id, must_understand, .. }, cdr) = (self.field, self.cdr);
        quote!(#cdr::MemberHeader { id: #id, must_understand: #must_understand })
    }
}
