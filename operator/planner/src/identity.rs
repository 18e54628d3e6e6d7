//! Which claim of which cluster does an instance belong to?
//!
//! The identity travels inside the create call and is all that makes an instance ours: names may repeat, uids do not.

use std::fmt;
use std::sync::Arc;

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

name_type!(
    /// The uid of the namespace `kube-system`: two clusters may share a name, never this.
    ClusterId
);
name_type!(
    /// The claim's name, which is also the machine's, the host's and the node's name.
    ClaimName
);
name_type!(
    /// The claim's uid: a claim made anew under an old name is another claim.
    ClaimUid
);
name_type!(
    /// The cloud's own id of one instance, without the provider-id prefix.
    InstanceId
);

/// Whose instance this is. Written into the create call, read back by `find` and `list`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub cluster: ClusterId,
    pub claim: ClaimUid,
}

/// Names one class object: pools refer to it, catalogs belong to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassRef {
    pub group: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
}

impl ClassRef {
    pub fn new(
        group: impl Into<Arc<str>>,
        kind: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ClassRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {} of cluster {}", self.claim, self.cluster)
    }
}
