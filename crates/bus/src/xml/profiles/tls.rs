//! TLS of a TCP transport. This bus always encrypts with TLS 1.3 and checks the certificates of both sides; what a file
//! says less is not followed, and a file that lacks what this needs makes a participant that cannot join, never one that
//! talks in the clear.

use std::path::PathBuf;

use crate::TlsFiles;
use crate::xml::section::{Known, Reader, Section, Shape};
use crate::xml::{Element, Finding, XmlError, value};

#[derive(Default)]
struct Draft {
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    ca: Option<PathBuf>,
    server_name: Option<String>,
}

/// Reads `<tls>`. A file that it does not name is an empty path, with which joining fails.
pub(super) fn read(reader: &mut Reader, element: &Element) -> Result<TlsFiles, XmlError> {
    let mut draft = Draft::default();
    reader.section(&mut draft, element, &TLS)?;
    let needed = [
        ("cert_chain_file", draft.certificate.is_some()),
        ("private_key_file", draft.key.is_some()),
        ("verify_file", draft.ca.is_some()),
    ];
    let missing: Vec<_> =
        needed.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| format!("<{name}>")).collect();
    if !missing.is_empty() {
        let what = format!(
            "<tls> lacks {}: this bus checks the certificates of both sides, so joining by this transport will fail",
            missing.join(" and ")
        );
        reader.findings.push(Finding::error(element.place.clone(), what));
    }
    Ok(TlsFiles {
        certificate: draft.certificate.unwrap_or_default(),
        key: draft.key.unwrap_or_default(),
        ca: draft.ca.unwrap_or_default(),
        server_name: draft.server_name,
    })
}

fn path(element: &Element) -> Result<PathBuf, XmlError> {
    let text = value::text(element)?;
    Ok(PathBuf::from(text.strip_prefix("file://").unwrap_or(&text)))
}

const VERIFY_WHY: &str = "certificates must come from the authority of <verify_file>";
const VERSION_WHY: &str = "connections use TLS 1.3";

static TLS: Section<Draft> = Section {
    attributes: &[],
    children: &[
        (
            "cert_chain_file",
            Known::Once(|_, draft, element| {
                draft.certificate = Some(path(element)?);
                Ok(())
            }),
        ),
        (
            "private_key_file",
            Known::Once(|_, draft, element| {
                draft.key = Some(path(element)?);
                Ok(())
            }),
        ),
        (
            "rsa_private_key_file",
            Known::Once(|reader, draft, element| {
                let key = path(element)?;
                if draft.key.is_some() {
                    reader.unsupported(element, "<private_key_file> counts");
                }
                draft.key.get_or_insert(key);
                Ok(())
            }),
        ),
        (
            "verify_file",
            Known::Once(|_, draft, element| {
                draft.ca = Some(path(element)?);
                Ok(())
            }),
        ),
        (
            "server_name",
            Known::Once(|_, draft, element| {
                draft.server_name = Some(value::text(element)?);
                Ok(())
            }),
        ),
        ("verify_mode", Known::Once(|reader, draft, element| reader.section(draft, element, &VERIFY_MODE))),
        ("options", Known::Once(|reader, draft, element| reader.section(draft, element, &OPTIONS))),
        (
            "handshake_role",
            Known::Once(|reader, _, element| {
                let role = value::word(element, &["DEFAULT", "CLIENT", "SERVER"])?;
                if role != "DEFAULT" {
                    reader.unsupported_value(element, role, "who connects is the client");
                }
                Ok(())
            }),
        ),
        ("password", Known::Unsupported(Shape::Text, "keys are read as they are, not encrypted")),
        ("tmp_dh_file", Known::Unsupported(Shape::Text, VERSION_WHY)),
        ("verify_paths", Known::Once(|reader, draft, element| reader.section(draft, element, &PATHS))),
        ("verify_depth", Known::Unsupported(super::shapes::I32, VERIFY_WHY)),
        (
            "default_verify_path",
            Known::Once(|reader, _, element| {
                if element.boolean()? {
                    reader.unsupported(element, VERIFY_WHY);
                }
                Ok(())
            }),
        ),
    ],
};

static PATHS: Section<Draft> =
    Section { attributes: &[], children: &[("verify_path", Known::Unsupported(Shape::Text, VERIFY_WHY))] };

static VERIFY_MODE: Section<Draft> = Section {
    attributes: &[],
    children: &[(
        "verify",
        Known::Each(|reader, _, element| {
            let words = ["VERIFY_NONE", "VERIFY_PEER", "VERIFY_FAIL_IF_NO_PEER_CERT", "VERIFY_CLIENT_ONCE"];
            let word = value::word(element, &words)?;
            if matches!(word, "VERIFY_NONE" | "VERIFY_CLIENT_ONCE") {
                reader.unsupported_value(element, word, "both sides are checked on every connection");
            }
            Ok(())
        }),
    )],
};

/// What TLS 1.3 leaves out anyway needs no telling.
static OPTIONS: Section<Draft> = Section {
    attributes: &[],
    children: &[(
        "option",
        Known::Each(|reader, _, element| {
            let words = [
                "DEFAULT_WORKAROUNDS",
                "NO_COMPRESSION",
                "NO_SSLV2",
                "NO_SSLV3",
                "NO_TLSV1",
                "NO_TLSV1_1",
                "NO_TLSV1_2",
                "NO_TLSV1_3",
                "SINGLE_DH_USE",
            ];
            let word = value::word(element, &words)?;
            if word == "NO_TLSV1_3" {
                reader.unsupported_value(element, word, VERSION_WHY);
            }
            Ok(())
        }),
    )],
};
