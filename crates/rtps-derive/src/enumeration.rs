//! The implementation for enums of unit variants. Pure.

use crate::input::{Input, Variant};
use proc_macro2::TokenStream;
use quote::quote;

/// `impl Cdr`.
pub(crate) fn cdr(input: &Input, variants: &[Variant]) -> TokenStream {
    let Input { ident, name, krate, .. } = input;
    let cdr = quote!(#krate::cdr);
    let idents: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|variant| &variant.name);
    let values: Vec<u32> = variants.iter().map(|variant| variant.value).collect();
    let first = idents.iter().take(1);
    quote! {
        #[automatically_derived]
        impl #cdr::Cdr for #ident {
            const SIZE_MIN: usize = 4;

            #[inline]
            fn encode(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                encoder.write_u32(match self {
                    #(Self::#idents => #values,)*
                });
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn decode(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                match decoder.read_u32()? {
                    #(#values => ::core::result::Result::Ok(Self::#idents),)*
                    value => ::core::result::Result::Err(#cdr::CdrError::Enumerator {
                        type_name: #name,
                        value,
                    }),
                }
            }

            fn described() -> #cdr::derived::Type {
                #cdr::derived::Type::Enum(#cdr::derived::EnumType::of_derived(
                    #name,
                    #cdr::derived::vec![#((#cdr::derived::String::from(#names), #values)),*],
                ))
            }

            #[inline]
            fn zero() -> Self {
                #(Self::#first)*
            }

            #[inline]
            fn end_max(start: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                <u32 as #cdr::Cdr>::end_max(start)
            }
        }
    }
}
