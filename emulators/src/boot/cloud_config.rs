//! Which files would cloud-init write?

use std::io::Read;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::{Files, multipart, template};
use crate::machine::Boot;

/// A bomb stays small.
const UNPACKED_LIMIT: u64 = 16 * 1024 * 1024;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    write_files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    append: bool,
}

pub(super) fn files(boot: &Boot) -> Result<Files, String> {
    let parts = multipart::parts(&text(boot)?)?;
    let mut files = Files::new();
    for part in &parts {
        let text = template::render(part, boot)?;
        match understood(&text) {
            Ok(()) => write(&text, &mut files)?,
            // A script beside a cloud-config does not keep the machine from joining: it is not run.
            Err(_) if parts.len() > 1 => {}
            Err(why) => return Err(why),
        }
    }
    Ok(files)
}

fn understood(text: &str) -> Result<(), String> {
    match text.lines().next().unwrap_or_default().trim_end() {
        "#cloud-config" => Ok(()),
        line if line.starts_with("#!") => Err("cloud-init: the user data is a script; this machine reads rendered files only and runs nothing".to_owned()),
        line => {
            let shown: String = line.chars().take(40).collect();
            Err(format!(
                "cloud-init: unhandled user data, its first line is {shown:?} and not #cloud-config"
            ))
        }
    }
}

/// Adds the files of one cloud-config.
fn write(text: &str, files: &mut Files) -> Result<(), String> {
    // the parser's own words would quote the text, and the text holds the token
    let config: Option<Config> = serde_saphyr::from_str(text)
        .map_err(|_| "cloud-init: the user data is not a cloud-config: YAML with write_files as a list of path, content and encoding".to_owned())?;
    for entry in config.into_iter().flat_map(|config| config.write_files) {
        let content = content(&entry)?;
        if entry.append {
            files.entry(entry.path).or_default().push_str(&content);
        } else {
            files.insert(entry.path, content);
        }
    }
    Ok(())
}

fn text(boot: &Boot) -> Result<String, String> {
    let encoded = boot.user_data.as_deref().filter(|text| !text.is_empty());
    let encoded = encoded.ok_or("cloud-init: no user data; this machine joins no cluster")?;
    let packed = decode(encoded).ok_or("cloud-init: the user data is not base64")?;
    let bytes = if packed.starts_with(&[0x1f, 0x8b]) {
        unpack(&packed)
            .ok_or("cloud-init: the user data begins like gzip but cannot be unpacked")?
    } else {
        packed
    };
    String::from_utf8(bytes).map_err(|_| "cloud-init: the user data is not text".to_owned())
}

fn content(entry: &Entry) -> Result<String, String> {
    let encoding = entry.encoding.as_deref().unwrap_or("text/plain");
    let broken = |what: &str| format!("cloud-init: {} is not {what}", entry.path);
    let bytes = match encoding {
        "" | "text/plain" => return Ok(entry.content.clone()),
        "b64" | "base64" => decode(&entry.content).ok_or_else(|| broken("base64"))?,
        "gz+b64" | "gzip+b64" | "gz+base64" | "gzip+base64" => {
            let packed = decode(&entry.content).ok_or_else(|| broken("base64"))?;
            unpack(&packed).ok_or_else(|| broken("gzip"))?
        }
        other => {
            return Err(format!(
                "cloud-init: {} has the encoding {other:?}, which is unknown",
                entry.path
            ));
        }
    };
    String::from_utf8(bytes).map_err(|_| broken("text"))
}

pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let bare: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    LENIENT.decode(bare).ok()
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(packed).take(UNPACKED_LIMIT);
    reader.read_to_end(&mut plain).ok()?;
    Some(plain)
}
