//! Is this Nova new enough?

use cloud::CloudError;
use serde::Deserialize;

use super::endpoints::Service;
use super::{Ask, Client};

/// The least we work with.
const NEEDED: (u32, u32) = (2, 79);

#[derive(Deserialize)]
struct Document {
    version: Version,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    version: String,
}

impl Client {
    /// Why this Nova cannot be used; none if it can.
    pub(crate) async fn compute_too_old(&self) -> Result<Option<String>, CloudError> {
        let ask = Ask {
            at_root: true,
            ..Ask::get("nova.version", Service::Compute, "/")
        };
        let document: Document = self.read(&ask).await?;
        Ok(too_old(&document.version.version))
    }
}

fn too_old(most: &str) -> Option<String> {
    let number = most
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let number: (u32, u32) = number.unwrap_or((0, 0));
    if number >= NEEDED {
        return None;
    }
    let shown = if most.is_empty() {
        "no microversion"
    } else {
        most
    };
    let lacks = if number < (2, 52) {
        "tags at create, without which our instances cannot be told from others"
    } else {
        "what is needed to tell an unreachable instance from a missing one"
    };
    Some(format!(
        "Nova here speaks at most {shown}, and 2.79 (release Train) is needed because it lacks {lacks}; upgrade the cloud"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nova_without_tags_at_create_is_refused_and_told_why() {
        assert_eq!(too_old("2.79"), None);
        assert_eq!(too_old("2.104"), None);
        assert!(too_old("2.51").unwrap().contains("tags at create"));
        assert!(too_old("2.60").unwrap().contains("2.60"));
        assert!(too_old("").unwrap().contains("no microversion"));
    }
}
