//! Type information: what an endpoint's announcement says about its type (DDS-XTypes 7.6.3.2). Pure.

use super::dependencies::References;
use super::{Equivalence, EquivalenceHash, TypeObjectError, identifier};
use crate::cdr::{CdrError, Decoder, Encoder, Endianness, Extensibility, MemberHeader, Representation};
use crate::types::StructType;
use alloc::vec::Vec;

/// A type by the hash of its object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeReference {
    /// The hash.
    pub hash: EquivalenceHash,
    /// Octets of the object.
    pub object_size: u32,
}

/// A type and the types within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeDependencies {
    /// The type; none when it is named by something else than a hash.
    pub root: Option<TypeReference>,
    /// The types within it; those that are named by something else than a hash are left out.
    pub dependencies: Vec<TypeReference>,
}

/// What an endpoint's announcement says about its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeInformation {
    /// By the hashes of minimal objects.
    pub minimal: TypeDependencies,
    /// By the hashes of complete objects.
    pub complete: TypeDependencies,
}

impl TypeInformation {
    /// Of the type of a topic.
    ///
    /// # Errors
    /// When a name is too long or stands for two types.
    pub fn of(structure: &StructType) -> Result<Self, TypeObjectError> {
        let references = References::of(structure)?;
        let part = |equivalence| TypeDependencies {
            root: references.get(structure.name(), equivalence),
            dependencies: references.dependencies(structure, equivalence),
        };
        Ok(Self { minimal: part(Equivalence::Minimal), complete: part(Equivalence::Complete) })
    }

    /// The value of the parameter `TYPE_INFORMATION` in a little-endian announcement: XCDR2 without encapsulation.
    ///
    /// # Errors
    /// When there are more than 2^32 types.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CdrError> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, Endianness::Little, Representation::Xcdr2);
        encoder.structure(Extensibility::Mutable, |encoder| {
            for (id, part, equivalence) in [
                (MINIMAL, &self.minimal, Equivalence::Minimal),
                (COMPLETE, &self.complete, Equivalence::Complete),
            ] {
                let header = MemberHeader { id, must_understand: false };
                encoder
                    .member(Extensibility::Mutable, header, |encoder| part.encode(equivalence, encoder))?;
            }
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Reads the parameter `TYPE_INFORMATION` of a peer. Whatever is not a hash, such as the identifiers of types that
    /// contain themselves, and whatever a later version adds is passed over.
    ///
    /// # Errors
    /// When the octets are no type information.
    pub fn decode(bytes: &[u8], endianness: Endianness) -> Result<Self, CdrError> {
        let mut information = Self::default();
        let mut decoder = Decoder::new(bytes, endianness, Representation::Xcdr2);
        decoder.structure(Extensibility::Mutable, |decoder| {
            decoder.members(|header, decoder| {
                match header.id {
                    MINIMAL => information.minimal = TypeDependencies::decode(Equivalence::Minimal, decoder)?,
                    COMPLETE => {
                        information.complete = TypeDependencies::decode(Equivalence::Complete, decoder)?
                    }
                    _ => {}
                }
                Ok(())
            })
        })?;
        Ok(information)
    }
}

impl TypeDependencies {
    fn encode(&self, equivalence: Equivalence, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.structure(Extensibility::Appendable, |encoder| {
            self.root.unwrap_or_default().encode(equivalence, encoder)?;
            encoder.write_length(self.dependencies.len())?;
            encoder.collection(false, |encoder| {
                encoder.write_length(self.dependencies.len())?;
                self.dependencies.iter().try_for_each(|reference| reference.encode(equivalence, encoder))
            })
        })
    }

    fn decode(equivalence: Equivalence, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.structure(Extensibility::Appendable, |decoder| {
            let root = TypeReference::decode(equivalence, decoder)?;
            // How many there are in all, of which some may have been left out.
            decoder.read_u32()?;
            let dependencies = decoder.collection(false, |decoder| {
                let count = decoder.read_length(4)?;
                let mut dependencies = Vec::new();
                for _ in 0..count {
                    dependencies.extend(TypeReference::decode(equivalence, decoder)?);
                }
                Ok(dependencies)
            })?;
            Ok(Self { root, dependencies })
        })
    }
}

impl TypeReference {
    fn encode(self, equivalence: Equivalence, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.structure(Extensibility::Appendable, |encoder| {
            identifier::write_reference(equivalence, &self.hash, encoder);
            encoder.write_u32(self.object_size);
            Ok(())
        })
    }

    /// `None` of a type that is named by something else than a hash.
    fn decode(equivalence: Equivalence, decoder: &mut Decoder<'_>) -> Result<Option<Self>, CdrError> {
        decoder.structure(Extensibility::Appendable, |decoder| {
            if decoder.read_u8()? != equivalence.kind() {
                return Ok(None);
            }
            let mut hash = EquivalenceHash::default();
            let octets = decoder.read_bytes(hash.len())?;
            hash.copy_from_slice(octets);
            Ok(Some(Self { hash, object_size: decoder.read_u32()? }))
        })
    }
}

/// Identifiers of the two members.
const MINIMAL: u32 = 0x1001;
const COMPLETE: u32 = 0x1002;
