//! The named types within a type, each once, with the hashes of their objects. Pure.

use super::{Equivalence, EquivalenceHash, TypeObjectError, TypeReference, identifier, objects};
use crate::types::{AliasType, BitmaskType, BitsetType, EnumType, StructType, UnionType};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use md5::{Digest, Md5};

/// A type that has an object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    Struct(&'a StructType),
    Enum(&'a EnumType),
    Union(&'a UnionType),
    Bitmask(&'a BitmaskType),
    Bitset(&'a BitsetType),
    Alias(&'a AliasType),
}

impl<'a> Named<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Struct(structure) => structure.name(),
            Self::Enum(enumeration) => enumeration.name(),
            Self::Union(union) => union.name(),
            Self::Bitmask(bitmask) => bitmask.name(),
            Self::Bitset(bitset) => bitset.name(),
            Self::Alias(alias) => alias.name(),
        }
    }

    /// The named types that its members have, in order, without repetition.
    fn uses(self) -> Vec<Named<'a>> {
        let of_members: Vec<Self> = match self {
            Self::Struct(structure) => {
                let base = structure.base().map(|base| Self::Struct(base));
                let own = structure.own_identified();
                base.into_iter().chain(own.flat_map(|(_, member)| identifier::named(&member.ty))).collect()
            }
            Self::Union(union) => {
                let cases = union.cases().iter().map(|case| &case.ty);
                core::iter::once(union.discriminator()).chain(cases).flat_map(identifier::named).collect()
            }
            Self::Alias(alias) => identifier::named(alias.ty()),
            Self::Enum(_) | Self::Bitmask(_) | Self::Bitset(_) => Vec::new(),
        };
        let mut uses: Vec<Self> = Vec::new();
        for named in of_members {
            if !uses.contains(&named) {
                uses.push(named);
            }
        }
        uses
    }
}

/// The hashes of a type's objects and of those within it, by name.
#[derive(Debug, Default)]
pub(super) struct References<'a> {
    known: BTreeMap<&'a str, (Named<'a>, [TypeReference; 2])>,
    /// The names as a search that takes the type found last finds them: the order in which Cyclone DDS lists them.
    found: Vec<Named<'a>>,
}

impl<'a> References<'a> {
    /// Of a type and all within it.
    pub(super) fn of(structure: &'a StructType) -> Result<Self, TypeObjectError> {
        let mut references = Self::default();
        references.find(Named::Struct(structure))?;
        references.hash(Named::Struct(structure))?;
        Ok(references)
    }

    fn find(&mut self, root: Named<'a>) -> Result<(), TypeObjectError> {
        let mut seen = BTreeMap::from([(root.name(), root)]);
        self.found.push(root);
        let mut waiting = Vec::from([root]);
        while let Some(named) = waiting.pop() {
            for used in named.uses() {
                match seen.insert(used.name(), used) {
                    None => {
                        self.found.push(used);
                        waiting.push(used);
                    }
                    Some(earlier) if earlier == used => {}
                    Some(_) => return Err(TypeObjectError::Ambiguous { name: used.name().into() }),
                }
            }
        }
        Ok(())
    }

    /// Hashes a type after those within it, whose depth is bounded.
    fn hash(&mut self, named: Named<'a>) -> Result<(), TypeObjectError> {
        if self.known.contains_key(named.name()) {
            return Ok(());
        }
        named.uses().into_iter().try_for_each(|used| self.hash(used))?;
        let reference =
            |equivalence| self.object(named, equivalence).map(|object| TypeReference::to(&object));
        let references = [reference(Equivalence::Minimal)?, reference(Equivalence::Complete)?];
        self.known.insert(named.name(), (named, references));
        Ok(())
    }

    /// The object of a type whose members' types are known.
    pub(super) fn object(
        &self,
        named: Named<'_>,
        equivalence: Equivalence,
    ) -> Result<Vec<u8>, TypeObjectError> {
        objects::write(named, equivalence, self)
    }

    pub(super) fn get(&self, name: &str, equivalence: Equivalence) -> Option<TypeReference> {
        let (_, [minimal, complete]) = self.known.get(name)?;
        Some(match equivalence {
            Equivalence::Minimal => *minimal,
            Equivalence::Complete => *complete,
        })
    }

    /// The types within the root, in the order of Cyclone DDS: first those without types within them, then the others,
    /// each after those within it. Of the latter the list of complete objects has one for each way that leads to it.
    pub(super) fn dependencies(&self, root: &StructType, equivalence: Equivalence) -> Vec<TypeReference> {
        let root = Named::Struct(root);
        let within = self.found.iter().filter(|named| named.name() != root.name());
        let mut order: Vec<Named<'_>> = within.filter(|named| named.uses().is_empty()).copied().collect();
        self.depth_first(root, &mut order);
        order.retain(|named| named.name() != root.name());
        let listed = order.into_iter().filter_map(|named| self.get(named.name(), equivalence));
        let mut seen = BTreeSet::new();
        listed.filter(|known| equivalence == Equivalence::Complete || seen.insert(known.hash)).collect()
    }

    fn depth_first(&self, named: Named<'a>, order: &mut Vec<Named<'a>>) {
        let uses = named.uses();
        for next in self.found.iter().filter(|next| uses.iter().any(|used| used.name() == next.name())) {
            // Types may be shared without end; what would not be listed is not looked for.
            if !next.uses().is_empty() && order.len() < DEPENDENCIES_MAX {
                self.depth_first(*next, order);
            }
        }
        order.push(named);
    }
}

/// Types within a type that are listed; further ones are left out, which the count in the list says.
const DEPENDENCIES_MAX: usize = 256;

impl TypeReference {
    fn to(object: &[u8]) -> Self {
        let digest: [u8; 16] = Md5::digest(object).into();
        let mut hash = EquivalenceHash::default();
        hash.iter_mut().zip(digest).for_each(|(octet, digit)| *octet = digit);
        Self { hash, object_size: u32::try_from(object.len()).unwrap_or(u32::MAX) }
    }
}
