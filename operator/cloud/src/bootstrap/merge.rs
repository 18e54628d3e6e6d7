//! How do our part of the user data and the user's meet?
//!
//! Two parts travel as MIME. The user's cloud-config is merged into ours so that lists are appended and keys of ours stay:
//! without that header the user's `write_files` would replace ours.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;

use super::literal::bad;
use super::{BadBootstrap, Merge, Own, UserData};

const KEEP_OURS: &str = "Merge-Type: list(append)+dict(no_replace,recurse_list)+str()\n";

pub(super) fn merged(ours: Option<String>, own: Option<&Own>) -> Result<UserData, BadBootstrap> {
    let text = match (ours, own) {
        (None, None) => {
            let fix = "add userData to the class or choose another bootstrap mode";
            return Err(bad("userData", "bootstrap mode UserData has none", fix));
        }
        (Some(ours), None) => ours,
        (None, Some(own)) => own.text.expose_secret().to_owned(),
        (Some(_), Some(own)) if own.merge == Merge::Replace => own.text.expose_secret().to_owned(),
        (Some(ours), Some(own)) => both(&ours, own.text.expose_secret())?,
    };
    Ok(UserData::new(text))
}

fn both(ours: &str, theirs: &str) -> Result<String, BadBootstrap> {
    if theirs.trim().is_empty() {
        return Ok(ours.to_owned());
    }
    let kind = kind_of(theirs).ok_or_else(|| {
        let fix = "begin it with #cloud-config or #!, or set bootstrap.merge to Replace";
        bad(
            "userData",
            "its first line does not tell what it is, so it cannot be appended",
            fix,
        )
    })?;
    let boundary = (0..u32::MAX)
        .map(|n| format!("joiner-part-{n}"))
        .find(|boundary| !ours.contains(boundary) && !theirs.contains(boundary))
        .unwrap_or_default();
    let first = part("text/jinja2", "", ours);
    let second = part(kind, KEEP_OURS, theirs);
    Ok(format!(
        "Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n\
         --{boundary}\n{first}\n--{boundary}\n{second}\n--{boundary}--\n"
    ))
}

fn part(kind: &str, header: &str, text: &str) -> String {
    let plain = text.is_ascii() && text.lines().all(|line| line.len() < 900);
    let (encoding, body) = if plain {
        ("7bit", text.to_owned())
    } else {
        ("base64", wrapped(&STANDARD.encode(text)))
    };
    format!(
        "Content-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: {encoding}\n{header}\n{body}"
    )
}

fn wrapped(encoded: &str) -> String {
    let lines: Vec<&str> = encoded
        .as_bytes()
        .chunks(76)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    lines.join("\n")
}

/// By the first line, as cloud-init itself does.
fn kind_of(text: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default().trim_end();
    match first {
        "#cloud-config" => Some("text/cloud-config"),
        "## template: jinja" => Some("text/jinja2"),
        "#cloud-boothook" => Some("text/cloud-boothook"),
        "#include" => Some("text/x-include-url"),
        script if script.starts_with("#!") => Some("text/x-shellscript"),
        _ => None,
    }
}
