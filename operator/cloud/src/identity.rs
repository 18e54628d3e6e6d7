//! How is identity written on the objects of a cloud, and read back?
//!
//! Two marks, `joiner-cluster=…` and `joiner-claim=…`, travel inside the create call. What does not carry both exactly is
//! not ours, whatever its name.

use planner::{ClaimUid, ClusterId, Identity};

pub const CLUSTER: &str = "joiner-cluster";
pub const CLAIM: &str = "joiner-claim";

/// An identity that cannot be written on a cloud object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{mark} is {value:?}, which cannot be a mark in a cloud; a uid of letters, digits and '-' of at most 44 characters is expected"
)]
pub struct BadIdentity {
    pub mark: &'static str,
    pub value: String,
}

/// The two marks as key and value.
pub fn pairs(who: &Identity) -> Result<[(&'static str, &str); 2], BadIdentity> {
    Ok([
        (CLUSTER, checked(CLUSTER, who.cluster.as_str())?),
        (CLAIM, checked(CLAIM, who.claim.as_str())?),
    ])
}

/// The two marks as tags.
pub fn tags(who: &Identity) -> Result<[String; 2], BadIdentity> {
    Ok(pairs(who)?.map(|(mark, value)| format!("{mark}={value}")))
}

/// Both marks in one line, for objects that have only a description.
pub fn line(who: &Identity) -> Result<String, BadIdentity> {
    Ok(tags(who)?.join(" "))
}

/// Whose object carries these tags? None if one mark is missing or contradicts itself.
pub fn read<'a>(tags: impl IntoIterator<Item = &'a str>) -> Option<Identity> {
    let (mut clusters, mut claims) = (Vec::new(), Vec::new());
    for tag in tags {
        match tag.split_once('=') {
            Some((CLUSTER, value)) => clusters.push(value),
            Some((CLAIM, value)) => claims.push(value),
            _ => {}
        }
    }
    clusters.dedup();
    claims.dedup();
    match (clusters.as_slice(), claims.as_slice()) {
        ([cluster], [claim]) if !cluster.is_empty() && !claim.is_empty() => Some(Identity {
            cluster: ClusterId::new(*cluster),
            claim: ClaimUid::new(*claim),
        }),
        _ => None,
    }
}

fn checked<'a>(mark: &'static str, value: &'a str) -> Result<&'a str, BadIdentity> {
    let fits = !value.is_empty()
        && value.len() <= 44
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-');
    fits.then_some(value).ok_or_else(|| BadIdentity {
        mark,
        value: value.chars().take(60).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn who() -> Identity {
        Identity {
            cluster: "c1".into(),
            claim: "u1".into(),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        let tags = tags(&who()).unwrap();
        assert_eq!(tags, ["joiner-cluster=c1", "joiner-claim=u1"]);
        assert_eq!(read(tags.iter().map(String::as_str)), Some(who()));
        assert_eq!(read(line(&who()).unwrap().split(' ')), Some(who()));
    }

    #[rstest]
    #[case(&["joiner-cluster=c1"])]
    #[case(&["joiner-claim=u1"])]
    #[case(&["joiner-cluster=c1", "joiner-claim=u1", "joiner-claim=u2"])]
    #[case(&["joiner-cluster=", "joiner-claim=u1"])]
    #[case(&["joiner-cluster-x=c1", "joiner-claim=u1"])]
    fn half_an_identity_or_two_is_nobodys(#[case] tags: &[&str]) {
        assert_eq!(read(tags.iter().copied()), None);
    }

    #[rstest]
    #[case("")]
    #[case("a,b")]
    #[case("a/b")]
    #[case("012345678901234567890123456789012345678901234")]
    fn an_identity_no_tag_can_hold_is_refused(#[case] claim: &str) {
        let who = Identity {
            claim: claim.into(),
            ..who()
        };
        assert_eq!(tags(&who).unwrap_err().mark, CLAIM);
    }
}
