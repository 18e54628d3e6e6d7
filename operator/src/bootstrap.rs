//! What is the machine of this claim told, and with which token does it join?

use cloud::bootstrap::{self, Bootstrap, Expression, Join, Merge, Own, Preset, UserData};
use crds::karpenter::NodeClaim;
use crds::karpenter::node_claim::NodeClaimSpec;
use crds::openstack::v1::{OpenStackNodeClass, UserData as ClassUserData};
use crds::shared::bootstrap::{BootstrapMerge, BootstrapMode};
use crds::shared::user_data::Template;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::config::Kubeconfig;
use openstack::provider_id::{Form, prefix};
use secrecy::{ExposeSecret, SecretString};

use crate::ingest;
use crate::secrets::{SecretReader, Unusable};

pub const TOKEN_NAMESPACE: &str = "kube-system";
/// Bound to the right to ask for a kubelet's certificate in every cluster that kubeadm made, and by our install manifest.
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// A token that joins one machine.
pub struct Token {
    id: String,
    secret: SecretString,
}

/// Where machines find the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    pub endpoint: Option<String>,
    pub ca_pem: Option<String>,
}

/// What the user data of a claim is made of.
pub struct Telling<'a> {
    pub claim: &'a NodeClaim,
    pub class: &'a OpenStackNodeClass,
    pub reach: &'a Reach,
    pub secrets: &'a SecretReader,
    /// How provider ids are written in this cluster.
    pub form: Form,
}

/// Six letters and digits that belong to this claim alone, as far as 31 bits can tell.
pub fn token_id(claim_uid: &str) -> String {
    let hash = claim_uid
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    letters((0..6).scan(hash, |rest, _| {
        let digit = *rest % 36;
        *rest /= 36;
        Some(digit)
    }))
}

pub fn secret_name(token_id: &str) -> String {
    format!("bootstrap-token-{token_id}")
}

fn letters(digits: impl Iterator<Item = u64>) -> String {
    digits
        .filter_map(|digit| char::from_digit(u32::try_from(digit).ok()?, 36))
        .collect()
}

impl Token {
    /// `random`: bytes nobody can guess. 16 of 36 letters are 82 bits; the bias of the remainder costs less than one.
    pub fn new(claim_uid: &str, random: [u8; 16]) -> Self {
        let secret = letters(random.into_iter().map(|byte| u64::from(byte % 36)));
        Self {
            id: token_id(claim_uid),
            secret: secret.into(),
        }
    }

    fn text(&self) -> SecretString {
        format!("{}.{}", self.id, self.secret.expose_secret()).into()
    }

    /// The Secret by which the API server knows the token.
    pub fn object(&self, claim: &str, expires: Timestamp) -> Secret {
        let mut secret: Secret = Secret::default();
        secret.metadata.name = Some(secret_name(&self.id));
        secret.metadata.namespace = Some(TOKEN_NAMESPACE.to_owned());
        secret.type_ = Some("bootstrap.kubernetes.io/token".to_owned());
        let entries = [
            ("token-id", self.id.clone()),
            ("token-secret", self.secret.expose_secret().to_owned()),
            (
                "description",
                format!("joins the machine of NodeClaim {claim}"),
            ),
            (
                "expiration",
                expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            ),
            ("usage-bootstrap-authentication", "true".to_owned()),
            ("auth-extra-groups", GROUP.to_owned()),
        ];
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        secret.string_data = Some(entries.collect());
        secret
    }
}

fn mode(class: &OpenStackNodeClass) -> BootstrapMode {
    let said = class
        .spec
        .bootstrap
        .as_ref()
        .and_then(|bootstrap| bootstrap.mode);
    said.unwrap_or(match class.spec.user_data {
        Some(_) => BootstrapMode::UserData,
        None => BootstrapMode::Kubelet,
    })
}

/// Does the machine need a token of ours?
pub fn needs_token(class: &OpenStackNodeClass) -> bool {
    mode(class) != BootstrapMode::UserData
}

/// Could a machine of this class be told how to join? Everything is rendered for a claim that does not exist, so that a class
/// is judged before a claim has to wait for it.
pub async fn rehearse(
    class: &OpenStackNodeClass,
    reach: &Reach,
    secrets: &SecretReader,
) -> Result<(), Unusable> {
    let claim = NodeClaim::new("rehearsal", NodeClaimSpec::default());
    let telling = Telling {
        claim: &claim,
        class,
        reach,
        secrets,
        form: Form::default(),
    };
    let token = Token::new("rehearsal", [0; 16]);
    telling.user_data(Some(&token)).await.map(drop)
}

impl Telling<'_> {
    pub async fn user_data(&self, token: Option<&Token>) -> Result<UserData, Unusable> {
        let class = self.class;
        let own = match &class.spec.user_data {
            Some(said) => Some(self.own(said).await?),
            None => None,
        };
        let preset = match (mode(class), token) {
            (BootstrapMode::UserData, _) => Preset::UserData,
            (BootstrapMode::Kubelet, Some(token)) => Preset::Kubelet(Box::new(self.join(token)?)),
            (BootstrapMode::Kubelet, None) => {
                return Err(bad("a machine that joins by kubelet needs a token"));
            }
            (other, _) => {
                return Err(bad(format!(
                    "spec.bootstrap.mode: {other:?} is not supported yet; use Kubelet or UserData"
                )));
            }
        };
        bootstrap::render(&Bootstrap { preset, own }).map_err(|wrong| bad(wrong.to_string()))
    }

    async fn own(&self, said: &ClassUserData) -> Result<Own, Unusable> {
        if said.template == Some(Template::Minijinja) {
            return Err(bad(
                "spec.userData.template: Minijinja is not supported yet; use None",
            ));
        }
        let text = match (&said.inline, &said.secret_ref) {
            (Some(inline), _) => inline.clone(),
            (None, Some(named)) => {
                let bytes = self
                    .secrets
                    .text("spec.userData.secretRef", named, "userData")
                    .await?;
                String::from_utf8(bytes).map_err(|_| {
                    bad("spec.userData.secretRef: the text is not UTF-8; store plain text")
                })?
            }
            (None, None) => {
                return Err(bad(
                    "spec.userData: neither inline nor secretRef is set; set one",
                ));
            }
        };
        let bootstrap = self.class.spec.bootstrap.as_ref();
        Ok(Own {
            text: text.into(),
            merge: match bootstrap.and_then(|bootstrap| bootstrap.merge) {
                Some(BootstrapMerge::Replace) => Merge::Replace,
                Some(BootstrapMerge::Append) | None => Merge::Append,
            },
        })
    }

    fn join(&self, token: &Token) -> Result<Join, Unusable> {
        let spec = &self.class.spec;
        let said = spec.bootstrap.clone().unwrap_or_default();
        let missing = |what: &str, field: &str| {
            bad(format!(
                "{what} is not known; set spec.bootstrap.{field}, the operator's flag, or kube-public/cluster-info"
            ))
        };
        let endpoint = said.endpoint.or_else(|| self.reach.endpoint.clone());
        let ca_pem = said.ca_bundle.or_else(|| self.reach.ca_pem.clone());
        let mut taints = ingest::crd_taints(self.claim.spec.taints.as_ref());
        taints.extend(ingest::crd_taints(self.claim.spec.startup_taints.as_ref()));
        Ok(Join {
            endpoint: endpoint
                .ok_or_else(|| missing("the address of the API server", "endpoint"))?,
            ca_pem: ca_pem.ok_or_else(|| missing("the CA of the API server", "caBundle"))?,
            token: token.text(),
            node_name: Expression::literal(&self.claim.name_any()),
            provider_id: Expression::instance_id_after(&prefix(&self.form)),
            labels: self.claim.labels().clone(),
            taints,
            kubelet: openstack::kubelet::settings(spec.kubelet.as_ref()),
            before: said.before.unwrap_or_default(),
            after: said.after.unwrap_or_default(),
        })
    }
}

fn bad(message: impl Into<String>) -> Unusable {
    Unusable::new("BootstrapNotPossible", message)
}

/// Endpoint and CA from the text of `kube-public/cluster-info`.
pub fn cluster_info(kubeconfig: &str) -> Reach {
    use base64::Engine;
    let Ok(config) = Kubeconfig::from_yaml(kubeconfig) else {
        return Reach::default();
    };
    let cluster = config
        .clusters
        .first()
        .and_then(|named| named.cluster.as_ref());
    let ca = cluster.and_then(|cluster| cluster.certificate_authority_data.as_ref());
    let decoded = ca.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    Reach {
        endpoint: cluster.and_then(|cluster| cluster.server.clone()),
        ca_pem: decoded.and_then(|bytes| String::from_utf8(bytes).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_the_form_the_api_server_wants_and_its_id_is_the_claims() {
        let token = Token::new("uid-1", [255; 16]);
        assert_eq!(token.id.len(), 6);
        assert_eq!(token.secret.expose_secret().len(), 16);
        assert_eq!(token.id, token_id("uid-1"));
        assert_ne!(token.id, token_id("uid-2"));
        let secret = token.object("c", Timestamp::from_second(0).unwrap());
        assert_eq!(
            secret.string_data.unwrap()["expiration"],
            "1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn cluster_info_that_says_nothing_leaves_nothing_known() {
        assert_eq!(cluster_info("not: [a kubeconfig"), Reach::default());
    }
}
