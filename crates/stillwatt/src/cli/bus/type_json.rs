//! Types described in XML as JSON, for `bus check`. Pure.

use std::collections::BTreeMap;

use bus::xml::Types;
use rtps::cdr::Extensibility;
use rtps::types::{Bitfield, StructType, Type, UnionType};
use serde_json::{Map, Value as Json, json};

/// Each type by its name.
pub(super) fn types_json(types: &Types) -> Json {
    Json::Object(types.iter().map(|(name, ty)| (name.to_owned(), type_json(ty))).collect::<Map<_, _>>())
}

fn type_json(ty: &Type) -> Json {
    match ty {
        Type::Struct(structure) => structure_json(structure),
        Type::Union(union) => union_json(union),
        Type::Enum(named) => json!({
            "kind": "enum",
            "bits": named.bits(),
            "enumerators": named.literals().iter().cloned().collect::<BTreeMap<_, _>>(),
        }),
        Type::Bitmask(named) => json!({
            "kind": "bitmask",
            "bits": named.bits(),
            "flags": named.flags().iter().cloned().collect::<BTreeMap<_, _>>(),
        }),
        Type::Bitset(named) => {
            let field = |(position, field): (u16, &Bitfield)| {
                json!({
                    "name": field.name,
                    "position": position,
                    "bits": field.bits,
                    "type": field.ty.to_string(),
                })
            };
            json!({
                "kind": "bitset",
                "base": named.base().map(|base| base.name()),
                "bits": named.bits(),
                "fields": named.fields().map(field).collect::<Vec<_>>(),
            })
        }
        Type::Alias(named) => json!({
            "kind": "typedef",
            "type": named.ty().to_string(),
            "resolved": ty.resolved().to_string(),
        }),
        other => json!({ "kind": other.to_string() }),
    }
}

fn structure_json(structure: &StructType) -> Json {
    let members = structure.identified().map(|(id, member)| {
        json!({
            "name": member.name,
            "type": member.ty.to_string(),
            "id": id,
            "key": member.key,
            "optional": member.is_optional,
        })
    });
    json!({
        "kind": "struct",
        "extensibility": extensibility_name(structure.extensibility()),
        "base": structure.base().map(|base| base.name()),
        "members": members.collect::<Vec<_>>(),
    })
}

fn union_json(union: &UnionType) -> Json {
    let cases = union.cases().iter().map(|case| {
        json!({
            "name": case.name,
            "type": case.ty.to_string(),
            "labels": case.labels,
            "default": case.is_default,
        })
    });
    json!({
        "kind": "union",
        "extensibility": extensibility_name(union.extensibility()),
        "discriminator": union.discriminator().to_string(),
        "cases": cases.collect::<Vec<_>>(),
    })
}

fn extensibility_name(extensibility: Extensibility) -> &'static str {
    match extensibility {
        Extensibility::Final => "final",
        Extensibility::Appendable => "appendable",
        Extensibility::Mutable => "mutable",
    }
}
