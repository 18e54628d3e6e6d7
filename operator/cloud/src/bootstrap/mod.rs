//! What must a fresh machine be told so that it becomes the node of one claim?
//!
//! A machine does not know its id before it is created, so user data carries cloud-init's *expression* for it
//! (`## template: jinja`). Everything else is a literal, and no literal can break out of the YAML or the template.

mod kubelet;
mod literal;
mod merge;

use std::collections::BTreeMap;

use planner::Taint;
use secrecy::SecretString;

pub use kubelet::{Kubelet, MAY_LABEL_ITSELF};

/// What the machine reads at its first boot. Holds the join token: never printed.
#[derive(Clone, Debug)]
pub struct UserData {
    text: SecretString,
    /// What stands in it encoded, and a cloud could quote decoded.
    parts: Vec<SecretString>,
}

/// Who makes a node of the machine.
#[derive(Clone, Debug)]
pub enum Preset {
    /// The user's own text does everything; nothing of ours is added.
    UserData,
    /// A kubelet that is installed on the image, joined by TLS bootstrap.
    Kubelet(Box<Join>),
}

/// Everything a kubelet needs to join as the node of one claim.
#[derive(Clone, Debug)]
pub struct Join {
    /// The API server as nodes reach it, `https://…`.
    pub endpoint: String,
    /// Its CA certificates, PEM.
    pub ca_pem: String,
    pub token: SecretString,
    /// Name of the node.
    pub node_name: Expression,
    /// For example `openstack:///` and the instance's id.
    pub provider_id: Expression,
    pub labels: BTreeMap<String, String>,
    /// Besides `karpenter.sh/unregistered:NoExecute`, which is always there.
    pub taints: Vec<Taint>,
    pub kubelet: Kubelet,
    /// Commands before and after the kubelet starts, in order.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// A value that only the machine itself can complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression(pub Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Literal(String),
    InstanceId,
    LocalHostname,
    AvailabilityZone,
}

/// The user's own part.
#[derive(Clone, Debug)]
pub struct Own {
    pub text: SecretString,
    pub merge: Merge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The user's part comes after ours.
    Append,
    /// The user's part replaces ours.
    Replace,
}

/// All there is to say to a machine.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    pub preset: Preset,
    pub own: Option<Own>,
}

/// A value that no machine could be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {fix}")]
pub struct BadBootstrap {
    pub field: String,
    pub problem: &'static str,
    pub fix: &'static str,
}

impl UserData {
    pub fn new(text: impl Into<SecretString>) -> Self {
        Self {
            text: text.into(),
            parts: Vec::new(),
        }
    }

    /// Only for building the create call.
    pub fn secret(&self) -> &SecretString {
        &self.text
    }

    /// Everything that must not be read by anybody else, the whole text included.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        std::iter::once(&self.text).chain(&self.parts)
    }
}

impl Expression {
    pub fn literal(text: &str) -> Self {
        Self(vec![Piece::Literal(text.to_owned())])
    }

    /// A prefix and the machine's own id.
    pub fn instance_id_after(prefix: &str) -> Self {
        Self(vec![Piece::Literal(prefix.to_owned()), Piece::InstanceId])
    }
}

/// The user data of one machine.
pub fn render(bootstrap: &Bootstrap) -> Result<UserData, BadBootstrap> {
    let mut parts = Vec::new();
    let ours = match &bootstrap.preset {
        Preset::UserData => None,
        Preset::Kubelet(join) => {
            parts.push(join.token.clone());
            Some(kubelet::cloud_config(join)?)
        }
    };
    parts.extend(bootstrap.own.iter().map(|own| own.text.clone()));
    let merged = merge::merged(ours, bootstrap.own.as_ref())?;
    Ok(UserData { parts, ..merged })
}

#[cfg(test)]
mod tests;
