//! Which parts has user data that is made of several?
//!
//! cloud-init reads MIME: our part and the user's travel together. Only what is needed to take them apart is understood.

use super::cloud_config::decode;

/// The texts of its parts in order, or the text itself if it is one.
pub(super) fn parts(text: &str) -> Result<Vec<String>, String> {
    let Some((head, body)) = split_head(text) else {
        return Ok(vec![text.to_owned()]);
    };
    let broken = |what: &str| format!("cloud-init: multipart user data {what}");
    let boundary = head
        .split_once("boundary=")
        .and_then(|(_, named)| named.lines().next())
        .map(|named| named.trim_matches(|c: char| c == '"' || c.is_whitespace()))
        .ok_or_else(|| broken("names no boundary"))?;
    let body = format!("\n{}", body.replace("\r\n", "\n"));
    let line = format!("\n--{boundary}");
    let (inside, _) = body
        .split_once(&format!("{line}--"))
        .ok_or_else(|| broken("breaks off"))?;
    let mut parts = Vec::new();
    for part in inside.split(&format!("{line}\n")).skip(1) {
        let (head, text) = split_head(part).ok_or_else(|| broken("has a part without a head"))?;
        let encoded = head
            .to_lowercase()
            .contains("content-transfer-encoding: base64");
        let text = if encoded {
            let bytes = decode(text).ok_or_else(|| broken("has a part that is not base64"))?;
            String::from_utf8(bytes).map_err(|_| broken("has a part that is not text"))?
        } else {
            text.to_owned()
        };
        parts.push(text);
    }
    Ok(parts)
}

/// Head and body of something that begins as MIME does.
fn split_head(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with("Content-Type:") && !text.starts_with("MIME-Version:") {
        return None;
    }
    text.split_once("\n\n")
        .or_else(|| text.split_once("\r\n\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_apart_and_decoded_and_one_text_is_one_part() {
        let text = "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n\
            --b\nContent-Type: text/jinja2\nContent-Transfer-Encoding: 7bit\n\n#one\n\nend\n\
            --b\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\nI3R3bw==\n--b--\n";
        assert_eq!(parts(text).unwrap(), ["#one\n\nend", "#two"]);
        assert_eq!(parts("#cloud-config\n").unwrap(), ["#cloud-config\n"]);
    }

    #[test]
    fn what_breaks_off_is_not_taken_for_whole() {
        let cut = "Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: a\n\nx";
        assert!(parts(cut).unwrap_err().contains("breaks off"));
        assert!(parts("Content-Type: multipart/mixed\n\nx").is_err());
    }
}
