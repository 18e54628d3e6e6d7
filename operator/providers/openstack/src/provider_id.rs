//! Which instance does a node's provider id name, and how is one written?
//!
//! The cloud's own controller writes `openstack:///<id>`, or `openstack://<region>/<id>` where it is told to. All forms are
//! read, the one the cluster's nodes already use is written, and ids are compared, never the texts.

use planner::InstanceId;

/// How the nodes of this cluster are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Plain,
    Regional(String),
}

/// The instance a provider id names. Old kubelets wrote `/<id>`.
pub fn read(provider_id: &str) -> Option<InstanceId> {
    let rest = match provider_id.strip_prefix("openstack://") {
        Some(rest) => rest.split_once('/')?.1,
        None => provider_id.strip_prefix('/')?,
    };
    let plain = !rest.is_empty() && !rest.contains(['/', ':']);
    plain.then(|| InstanceId::new(rest))
}

/// The form of a provider id, to be kept for new nodes.
pub fn form(provider_id: &str) -> Option<Form> {
    let region = provider_id.strip_prefix("openstack://")?.split_once('/')?.0;
    let regional = || Form::Regional(region.to_owned());
    Some(if region.is_empty() {
        Form::Plain
    } else {
        regional()
    })
}

pub fn write(id: &InstanceId, form: &Form) -> String {
    format!("{}{id}", prefix(form))
}

/// What stands before the id, for user data that lets the machine complete it.
pub fn prefix(form: &Form) -> String {
    match form {
        Form::Plain => "openstack:///".to_owned(),
        Form::Regional(region) => format!("openstack://{region}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("openstack:///7b5f", Some("7b5f"))]
    #[case("openstack://RegionOne/7b5f", Some("7b5f"))]
    #[case("/7b5f", Some("7b5f"))]
    #[case("openstack:///", None)]
    #[case("openstack://7b5f", None)]
    #[case("openstack:///a/b", None)]
    #[case("cloudstack:///7b5f", None)]
    #[case("aws:///zone/i-1", None)]
    #[case("", None)]
    fn every_form_names_the_same_instance(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(read(text), expected.map(InstanceId::from));
    }

    #[test]
    fn the_form_in_use_is_kept() {
        for text in ["openstack:///7b5f", "openstack://RegionOne/7b5f"] {
            assert_eq!(write(&read(text).unwrap(), &form(text).unwrap()), text);
        }
    }
}
